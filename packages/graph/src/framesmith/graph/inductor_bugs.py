"""Operations that inductor compiles wrongly, replaced in the graph that it gets.

`a + alpha * (b @ c)`: inductor of torch 2.13 makes one `addmm` of it and forgets `alpha` (its pattern for `aten.add` of an
`aten.mm` takes any keywords). This is what a step of SGD is. Newer ones are right.
"""

import operator
from typing import Final

import torch
from torch import fx

from framesmith.graph.arguments import EXAMPLE

_METHODS: Final = frozenset({"add", "add_"})
_FUNCTIONS: Final = frozenset({torch.add})


def replace_scaled_sums(module: fx.GraphModule) -> None:
    """Before: `add(a, b, alpha=n)`. After: `add(a, b * n)`, in this graph and those that it calls."""
    for one in module.modules():
        if isinstance(one, fx.GraphModule) and _replace(one.graph):
            one.recompile()


def _replace(graph: fx.Graph) -> bool:
    found = [node for node in graph.nodes if "alpha" in node.kwargs and _is_sum(node)]
    for node in found:
        first, second = node.args
        with graph.inserting_before(node):
            scaled = graph.call_function(operator.mul, (second, node.kwargs["alpha"]))
        assert isinstance(second, fx.Node)
        scaled.meta = {key: second.meta[key] for key in (EXAMPLE, "stack_trace") if key in second.meta}
        node.args = (first, scaled)
        node.kwargs = {key: value for key, value in node.kwargs.items() if key != "alpha"}
    return bool(found)


def _is_sum(node: fx.Node) -> bool:
    if len(node.args) != 2 or not _is_tensor(node.args[1]):
        return False
    if node.op == "call_method":
        return node.target in _METHODS
    return node.op == "call_function" and node.target in _FUNCTIONS


def _is_tensor(value: object) -> bool:
    """Whether it is a node of a tensor of floats, on which a factor may be taken out."""
    example = value.meta.get(EXAMPLE) if isinstance(value, fx.Node) else None
    return isinstance(example, torch.Tensor) and example.is_floating_point()
