"""Operators on the bits of ints that change from call to call: one graph serves them, and Python computes them."""

import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend
from framesmith.frontend import api

EXPRESSIONS = [
    "v & 3",
    "3 & v",
    "v | 8",
    "v ^ 5",
    "v << 2",
    "v >> 1",
    "~v",
    "-(v >> 1) & 7",
    "(v ^ v >> 1) % 4",
    "1000 >> (v & 7)",
]
PLACES = {
    "a number of the program": "x * ({0})",
    "a result": "(x, {0})",
    "a size": "x.new_zeros(({0}) & 15)",
    "an index": "x[({0}) & 1]",
    "a decision": "x + 1 if ({0}) & 1 else x - 1",
    "a comparison": "x * (({0}) > 2)",
}


def advance_over(values):
    def advance(x, box):
        box["at"] += 1
        box["v"] = values[box["at"] % len(values)]

    return advance


def run(text, values, **settings):
    function = eval(f"lambda x, box: (lambda v: {text})(box['v'])", {"torch": torch})
    box = {"v": values[0], "at": 0}
    return check(function, torch.ones(3), box, calls=len(values), change=advance_over(values), **settings)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_changing_int_is_no_new_graph_each_time(expression, backend):
    report = run(f"x * ({expression})", [5, 6, 9, 12, 3, 10, 20], backend=backend, breaks=0)
    assert len(report.recompiles) <= 1


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_unusual_ints_are_those_of_eager(expression, place):
    values = [5, 6, 0, 1, -1, -7, True, 2**40, 2**63, -(2**70), 3]
    run(PLACES[place].format(expression), values)


@pytest.mark.parametrize("values", [[1, 2, 3, -1, 4], [1, 2, 70, 3], [3, 4, 2.5, 5], [3, 4, "a", None, 5]])
@pytest.mark.parametrize("expression", ["1 << v", "v << v", "x.sum().item() and 9 >> v", "v & 1"])
def test_what_raises_raises_as_in_eager(expression, values):
    run(f"(x * 2, {expression})", values)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "text",
    [
        "x.view(x.shape[0] >> 1, 2)", "x[: x.shape[0] & ~1]", "x * (x.shape[0] ^ 3)", "torch.zeros(x.shape[0] << 1) + x.sum()",
        "torch.nn.functional.pad(x, (0, -x.shape[0] & 7)).view(-1, 8)", "x + 1 if x.shape[0] & 1 == 0 else x",
    ],
)  # fmt: skip
def test_sizes_have_bits_too(text, backend):
    function = eval(f"lambda x: {text}", {"torch": torch})
    compiled = frontend.compile(function, backend=backend, fullgraph=True)
    for size in (4, 6, 8, 10, 2, 14):
        x = torch.arange(float(size))
        assert torch.equal(compiled(x), function(x))
    assert len(api.session_of(compiled).history.recompiles) <= 3
