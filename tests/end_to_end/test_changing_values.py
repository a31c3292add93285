"""An operation that needs a value which keeps changing says so, whatever the operation is."""

import pytest
import torch

from framesmith import frontend
from framesmith.frontend.api import session_of

USES = {
    "length": lambda x, mode: x * len(mode),
    "slice": lambda x, mode: (x + 1, mode[1:]),
    "comparison": lambda x, mode: x + (mode < "m3"),
    "key": lambda x, mode: x * {"m0": 1}.get(mode, 2),
}


@pytest.mark.parametrize("use", USES)
def test_the_break_names_the_cause(use: str) -> None:
    compiled = frontend.compile(USES[use], backend="eager")
    for number in range(8):
        mode = f"m{number}"
        assert repr(compiled(torch.ones(2), mode)) == repr(USES[use](torch.ones(2), mode))
    assert {record.kind for record in session_of(compiled).history.breaks} == {"changing-value"}


def remember(x, state):
    if not state:
        state["n"] = torch.zeros(3)
    return sum(state.values()) + x * len(state)


def test_a_value_that_changed_once_does_not_count_in_later_misses() -> None:
    compiled, state, other = frontend.compile(remember, backend="eager"), {}, {}
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64):
        x = torch.ones(3).to(dtype)
        assert torch.equal(compiled(x, state), remember(x, other))
    explanation = frontend.explain(compiled)()
    assert not explanation.breaks
    assert len(explanation.recompiles) == 5  # one reason each, that of the nearest entry
    assert "float64 to torch.float16" in explanation.recompiles[1]


def test_the_guards_of_a_later_entry_are_those_that_no_earlier_one_has() -> None:
    compiled = frontend.compile(lambda x, n: x * 2 + n, backend="eager")
    for dtype in (torch.float32, torch.float64):
        compiled(torch.ones(3, dtype=dtype), 1)
    text = str(frontend.explain(compiled)())
    (line,) = [line for line in text.splitlines() if line.startswith("entry 2")]
    assert line.endswith("1 of them in no entry before:") and "in 2 entries" in text
    assert text.count("torch.float64 on cpu") == 1
    assert str(frontend.explain(compiled)().text(most_guards=None)).count("n == 1 (") == 2
