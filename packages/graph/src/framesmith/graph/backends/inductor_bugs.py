"""What inductor compiles wrongly, and how it is kept from that; the captured graph stays as it is.

`a + alpha * (b @ c)`: inductor of torch 2.13 and 2.14 makes one `addmm` of it and forgets `alpha` (its patterns for `aten.add` of an
`aten.mm` take any keywords). This is what a step of SGD is. That of 2.15 is right.

A call of a subgraph (`invoke_subgraph`): a subgraph returns operands that the backward pass needs, and writes results
over operands that it uses last; the code around the call takes the memory of these operands for free, or for unchanged.
Gradients are wrong then, in torch 2.13 to 2.15. Nothing is written over in such a graph.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Final, final

import torch
from torch import fx
from torch.fx.node import Argument

SETTING: Final = "post_grad_custom_pre_pass"
"""The option of inductor that holds passes over its graphs, which run before its patterns do."""

UNSHARED_MEMORY: Final[dict[str, object]] = {"allow_buffer_reuse": False, "inplace_buffers": False}
"""The settings with which inductor gives each value memory of its own."""


def calls_subgraph(module: fx.GraphModule) -> bool:
    """Whether a graph, or one in it, calls a subgraph as a function that is compiled once."""
    target = torch.ops.higher_order.invoke_subgraph
    graphs = [one.graph for one in module.modules() if isinstance(one, fx.GraphModule)]
    return any(graph.find_nodes(op="call_function", target=target, sort=False) for graph in graphs)


@final
class ScaledSums:
    """Before: `add(a, b, alpha=n)`. After: `add(a, mul(b, n))`, to which inductor would lower it anyway."""

    def __call__(self, graph: fx.Graph) -> None:
        """Rewrite the graph, one of operators of aten."""
        for node in graph.find_nodes(op="call_function", target=torch.ops.aten.add.Tensor):
            if "alpha" in node.kwargs and _is_tensor(node) and _is_tensor(node.args[1]):
                _multiply_out(graph, node)

    def uuid(self) -> str:
        """The text that stands for this pass in the keys of inductor's caches."""
        return "framesmith: scaled sums"


def with_own_passes(package: ModuleType, given: object) -> list[object]:
    """The passes that are set already, one or several or None, and ours. `package` is torch's module of such passes."""
    package.CustomGraphPass.register(ScaledSums)
    passes = list(given) if isinstance(given, list | tuple) else [given]
    return [*(one for one in passes if one is not None), ScaledSums()]


def _multiply_out(graph: fx.Graph, node: fx.Node) -> None:
    first, second = node.args
    total, other = _read_value(node), _read_value(second)
    assert isinstance(total, torch.Tensor) and isinstance(other, torch.Tensor)
    with graph.inserting_before(node):
        # Eager converts first and multiplies then, which rounds otherwise than the other order.
        if other.dtype != total.dtype:
            second = _call(graph, torch.ops.prims.convert_element_type.default, second, total.dtype)
        scaled = _call(graph, torch.ops.aten.mul.Tensor, second, node.kwargs["alpha"])
    node.args = (first, scaled)
    node.kwargs = {key: value for key, value in node.kwargs.items() if key != "alpha"}


def _call(graph: fx.Graph, target: Callable[..., object], *arguments: Argument) -> fx.Node:
    node = graph.call_function(target, arguments)
    node.meta["val"] = target(*map(_read_value, arguments))
    return node


def _read_value(argument: object) -> object:
    """The argument of a node: of a node the value that it has on fakes."""
    return argument.meta.get("val") if isinstance(argument, fx.Node) else argument


def _is_tensor(value: object) -> bool:
    """Whether it is a node of a tensor of numbers, which can be multiplied."""
    example = _read_value(value)
    return isinstance(example, torch.Tensor) and example.dtype is not torch.bool
