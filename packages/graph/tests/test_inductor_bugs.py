"""Passes over inductor's graphs: sums of a multiple of a matrix product, of which inductor of torch 2.13 and 2.14 forgets
the factor."""

import operator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from framesmith.graph import GraphOptions
from framesmith.graph.backends import backend
from framesmith.graph.backends.inductor_bugs import ScaledSums, with_own_passes

VALUES = [torch.arange(16.0).reshape(4, 4) + shift for shift in range(3)]
CALLS = {
    "function": lambda a, b, c: torch.add(a, b @ c, alpha=3),
    "product first": lambda a, b, c: torch.add(b @ c, a, alpha=3),
    "two products": lambda a, b, c: torch.add(b @ c, a @ c, alpha=3),
    "by name": lambda a, b, c: torch.add(a, other=b @ c, alpha=3),
    "method": lambda a, b, c: a.add(b @ c, alpha=3),
    "in place": lambda a, b, c: a.clone().add_(b @ c, alpha=3),
    "difference": lambda a, b, c: torch.sub(a, b @ c, alpha=3),
    "operator": lambda a, b, c: torch.ops.aten.add.Tensor(a, b @ c, alpha=3),
    "for each": lambda a, b, c: torch._foreach_add([a], [b @ c], alpha=3)[0],
    "integers": lambda a, b, c: torch.add(a.long(), b.long() @ c.long(), alpha=3),
    "mixed types": lambda a, b, c: torch.add(a.double(), b @ c, alpha=3),
}


@pytest.mark.inductor
@pytest.mark.parametrize("name", CALLS)
def test_inductor_keeps_the_factor(name: str) -> None:
    module = fx.symbolic_trace(lambda a, b, c: (CALLS[name](a, b, c),))
    expected, text, code = module(*VALUES)[0], str(module.graph), module.code
    compiled = backend.compile_with(GraphOptions(backend="inductor"), module, VALUES)
    torch.testing.assert_close(compiled(*VALUES)[0], expected)
    assert (str(module.graph), module.code) == (text, code)


def rewritten(left: torch.Tensor, right: torch.Tensor, alpha: Any) -> tuple[fx.Graph, torch.Tensor]:
    """A graph of one sum after the pass, and what it computes."""
    graph, values = fx.Graph(), (left, right)
    mode = FakeTensorMode()
    inputs = [graph.placeholder(name) for name in "ab"]
    for node, value in zip(inputs, values, strict=True):
        node.meta["val"] = mode.from_tensor(value)
    total = graph.call_function(torch.ops.aten.add.Tensor, tuple(inputs), {"alpha": alpha})
    total.meta["val"] = operator.add(*(node.meta["val"] for node in inputs))
    graph.output(total)
    ScaledSums()(graph)
    graph.lint()
    return graph, fx.GraphModule({}, graph)(*values)


@pytest.mark.parametrize("left", [torch.float32, torch.float16, torch.float64, torch.int64, torch.complex64])
@pytest.mark.parametrize("right", [torch.float32, torch.float16, torch.int64])
def test_a_factor_is_multiplied_out_in_the_type_of_the_sum(left: torch.dtype, right: torch.dtype) -> None:
    a, b = torch.tensor([1, 2]).to(left), torch.tensor([1001, 2003]).to(right)
    graph, found = rewritten(a, b, 3)
    assert not any("alpha" in node.kwargs for node in graph.nodes)
    assert found.dtype is torch.result_type(a, b)
    torch.testing.assert_close(found, torch.add(a, b, alpha=3))
    values = [node.meta["val"].dtype for node in graph.nodes if node.target is torch.ops.aten.mul.Tensor]
    assert values == [found.dtype]


def test_a_sum_of_bools_is_left_alone() -> None:
    truth = torch.tensor([True, False])
    graph, found = rewritten(truth, truth, True)
    assert torch.equal(found, truth) and len(graph.nodes) == 4


@pytest.mark.parametrize("given", [None, print, [print, len], (print,)])
def test_passes_of_the_user_run_first(given: Any) -> None:
    kinds: list[type] = []
    package: Any = SimpleNamespace(CustomGraphPass=SimpleNamespace(register=kinds.append))
    *first, own = with_own_passes(package, given)
    assert first == ([] if given is None else [given] if callable(given) else [*given])
    assert isinstance(own, ScaledSums) and kinds == [ScaledSums]
