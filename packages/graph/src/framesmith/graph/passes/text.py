"""A graph as text, for logs and golden tests. One line per node: name, value, operation."""

import torch
from torch import fx

from framesmith.graph.fakes.infer import operation_name
from framesmith.graph.nodes.arguments import EXAMPLE


def value_text(value: object) -> str:
    """A value's type for people: `float32[3, s0]`, `int s0`, a tuple of those."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        sizes = ", ".join(str(size) for size in value.shape)
        return f"{dtype}[{sizes}]"
    if isinstance(value, torch.SymInt):
        return f"int {value}"
    if isinstance(value, torch.SymFloat):
        return f"float {value}"
    if isinstance(value, torch.SymBool):
        return f"bool {value}"
    if isinstance(value, tuple | list):
        return f"({', '.join(value_text(item) for item in value)})"
    return type(value).__name__


def text(graph: fx.Graph) -> str:
    """The graph, one line per node in order."""
    return "\n".join(_line(node) for node in graph.nodes)


def _line(node: fx.Node) -> str:
    if node.op == "output":
        return f"return {node.args[0]}"
    kind = value_text(node.meta.get(EXAMPLE))
    if node.op == "placeholder":
        return f"{node.name}: {kind} = input"
    if node.op == "get_attr":
        return f"{node.name}: {kind} = attribute {node.target}"
    arguments = [str(argument) for argument in node.args]
    arguments += [f"{name}={value}" for name, value in node.kwargs.items()]
    return f"{node.name}: {kind} = {operation_name(node.op, node.target)}({', '.join(arguments)})"
