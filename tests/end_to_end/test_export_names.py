"""Exported graphs of arguments whose names become equal, or mean something else, in the text of the graph."""

import keyword
from typing import Any

import pytest
import torch

from framesmith import frontend
from framesmith.frontend import ExportError

ONES = [torch.full((2,), float(number)) for number in range(1, 6)]

SIGNATURES = {
    "upper and lower": ("X, x", "X * 2, x * 3", ONES[:2], {}),
    "underscores": ("__x, _x, x, x_", "__x, _x * 2, x * 3, x_ * 4", ONES[:4], {}),
    "snake and camel": ("xY, x_y, Wq, W_q", "xY, x_y * 2, Wq * 3, W_q * 4", ONES[:4], {}),
    "other letters": ("ü, ö, 中, 文", "ü, ö * 2, 中 * 3, 文 * 4", ONES[:4], {}),
    "a list and a name": ("x, x_0", "x[0], x_0 * 2", [[ONES[0]], ONES[1]], {}),
    "a dict and a name": ("b, b_i", "b['i'], b_i * 2", [{"i": ONES[0]}, ONES[1]], {}),
    "dicts": ("d", "d['a']['b_c'], d['a_b']['c'] * 2", [{"a": {"b_c": ONES[0]}, "a_b": {"c": ONES[1]}}], {}),
    "keys": (
        "d",
        "d['A'], d['a'] * 2, d['a b'] * 3, d['a_b'] * 4, d[''] * 5",
        [dict(zip(["A", "a", "a b", "a_b", ""], ONES, strict=True))],
        {},
    ),
    "numbers": ("d", "d[1], d['1'] * 2", [{1: ONES[0], "1": ONES[1]}], {}),
    "keywords": ("**k", "k['a']['b'], k['a_b'] * 2", [], {"a": {"b": ONES[0]}, "a_b": ONES[1]}),
    "builtins": ("input, input_1, list", "input, input_1 * 2, list * 3", ONES[:3], {}),
    "self": ("self, x", "self, x * 2", ONES[:2], {}),
    "self behind": ("x, self", "x, self * 2", ONES[:2], {}),
    "args and a name": ("*args, args_0", "args[0], args_0 * 2", ONES[:1], {"args_0": ONES[1]}),
    "a name and args": ("a_0, *a", "a_0, a[0] * 2", ONES[:2], {}),
    "like keywords": ("class_, lambda_, None_", "class_, lambda_ * 2, None_ * 3", ONES[:3], {}),
    "of the text": ("fx_pytree, pytree", "fx_pytree, pytree * 2", ONES[:2], {}),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_each_argument_stays_itself(name: str) -> None:
    parameters, results, args, kwargs = SIGNATURES[name]
    namespace: dict[str, Any] = {}
    exec(f"def f({parameters}):\n    return ({results}, 0)[:-1]", namespace)
    expected = namespace["f"](*args, **kwargs)
    exported = frontend.export(namespace["f"])(*args, **kwargs)
    for call in (exported, exported.graph_module):
        assert torch.equal(torch.stack(call(*args, **kwargs)), torch.stack(expected))


@pytest.mark.parametrize("name", ["self", "a b", "pytree", *keyword.kwlist[3:5]])
def test_a_keyword_that_is_no_parameter_is_refused(name: str) -> None:
    def f(**given: torch.Tensor) -> torch.Tensor:
        return given[name] * 2

    with pytest.raises(ExportError, match=f"the keyword '{name}' cannot be a parameter"):
        frontend.export(f)(**{name: ONES[0]})
