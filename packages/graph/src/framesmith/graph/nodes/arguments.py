"""What may be an argument of a graph node, and its two forms: with nodes for the graph, with examples for a run on fakes.

With nodes: `(Node x, [Node y, 2])`; with examples: `(fake of x, [fake of y, 2])`. How trackers become arguments:
`variables.graph_nodes.arguments`.
"""

import enum
import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import torch
from torch import fx

from framesmith.graph.breaks.break_kinds import UNSUPPORTED_ARGUMENT
from framesmith.graph.breaks.breaks import GraphBreak
from framesmith.guards.class_lookup import defines

# Nodes, constants, and tuples, lists, dicts and slices of these. The containers cannot be spelt recursively
# without losing the variance that callers need.
Argument: TypeAlias = object

EXAMPLE = "example_value"

_PLAIN: frozenset[type] = frozenset(
    {
        int,
        float,
        bool,
        str,
        bytes,
        type(None),
        type(...),
        type(NotImplemented),
        torch.dtype,
        torch.device,
        torch.memory_format,
        torch.layout,
        range,
        torch.Size,
        torch.finfo,
        torch.iinfo,
    }
)
_SYMBOLIC: frozenset[type] = frozenset({torch.SymInt, torch.SymFloat, torch.SymBool})
_ADMITTED = (
    enum.Enum,
    type,
    torch.Generator,
    torch.Stream,
    torch._ops.OpOverload,
    torch._ops.OpOverloadPacket,
    torch._ops.HigherOrderOperator,
)

NodeOf = Callable[[object], object]


def example(node: fx.Node) -> object:
    """The value that represents a node while tracing: a fake tensor, a symbolic number, a tuple of those ..."""
    return node.meta[EXAMPLE]


def to_node_argument(argument: Argument, local: Callable[[fx.Node], fx.Node], symbolic: NodeOf) -> object:
    """The argument in the form that a graph node takes.

    `local` gives the node to use in the current graph for a node of an outer one, `symbolic` the node that computes
    a symbolic number (or the plain number, if it is fixed). Raises GraphBreak for an object that a graph cannot hold.
    """
    cls = type(argument)
    if isinstance(argument, fx.Node):
        return local(argument)
    if cls in _PLAIN:
        return argument
    # fx writes constants as text: such a complex number is computed by a node of its own.
    if cls in _SYMBOLIC or (isinstance(argument, complex) and not _is_written_exactly(argument)):
        return symbolic(argument)
    if isinstance(argument, tuple):
        parts = [to_node_argument(item, local, symbolic) for item in argument]
        if cls is tuple:
            return tuple(parts)
        # Other classes of tuples have constructors of their own: those break the graph.
        if hasattr(cls, "_fields"):
            return cls(*parts)
    elif isinstance(argument, list):
        return [to_node_argument(item, local, symbolic) for item in argument]
    elif isinstance(argument, dict):
        return {key: to_node_argument(value, local, symbolic) for key, value in argument.items()}
    elif isinstance(argument, slice):
        return slice(
            *(
                to_node_argument(item, local, symbolic)
                for item in (argument.start, argument.stop, argument.step)
            )
        )
    return _other_constant(argument)


def _is_written_exactly(number: complex) -> bool:
    """Whether the text of a complex number gives the number: `-2j` is `(-0-2j)`, and `nan`, `infj` are no literals."""
    parts = (number.real, number.imag)
    if number.real == 0.0 and number.imag < 0.0:
        return False
    return all(math.isfinite(part) and (part != 0.0 or math.copysign(1.0, part) == 1.0) for part in parts)


def _other_constant(argument: object) -> object:
    if isinstance(argument, enum.Enum) and not _is_found_by_name(argument):
        raise GraphBreak(UNSUPPORTED_ARGUMENT, f"a member of {type(argument).__qualname__} without a name")
    if isinstance(argument, _ADMITTED):
        return argument
    if inspect.isroutine(argument):
        return argument
    if isinstance(argument, int | float | str | bytes | complex):
        return argument
    raise GraphBreak(UNSUPPORTED_ARGUMENT, f"an argument of type {type(argument).__qualname__}")


def _is_found_by_name(member: enum.Enum) -> bool:
    """Whether `Class.NAME`, as fx writes a member, gives it: a part of a flag has no name, a descriptor gives something else."""
    name = vars(member).get("_name_")
    is_descriptor = defines(type(member), "__get__")  # which looking it up would run
    return isinstance(name, str) and not is_descriptor and getattr(type(member), name, None) is member


def prepare(
    arguments: Iterable[Argument], graph: fx.Graph, local: Callable[[fx.Node], fx.Node], symbolic: NodeOf
) -> tuple[list[object], list[object], list[torch.Tensor]]:
    """Both forms of a call's arguments at once (with nodes, with examples), and the tensors among the examples.

    This runs for every recorded operation, hence the short cuts for what most arguments are.
    """
    own: list[object] = []
    values: list[object] = []
    tensors: list[torch.Tensor] = []
    for argument in arguments:
        cls = type(argument)
        if cls in _PLAIN:
            own.append(argument)
            values.append(argument)
            continue
        if isinstance(argument, fx.Node) and argument.graph is graph:
            own.append(argument)
            value = argument.meta[EXAMPLE]
        else:
            own.append(to_node_argument(argument, local, symbolic))
            value = examples(own[-1])
        values.append(value)
        if isinstance(value, torch.Tensor):
            tensors.append(value)
        else:
            tensors += tensors_in(value)
    return own, values, tensors


def examples(argument: object) -> object:
    """The argument with every node replaced by its example; containers are rebuilt, constants are kept."""
    cls = type(argument)
    if isinstance(argument, fx.Node):
        return argument.meta[EXAMPLE]
    if cls in _PLAIN:
        return argument
    if isinstance(argument, tuple):
        parts = [examples(item) for item in argument]
        return tuple(parts) if cls is tuple else cls(*parts)
    if isinstance(argument, list):  # a node's arguments hold fx's immutable lists
        return [examples(item) for item in argument]
    if isinstance(argument, dict):
        return {key: examples(value) for key, value in argument.items()}
    if isinstance(argument, slice):
        return slice(examples(argument.start), examples(argument.stop), examples(argument.step))
    return argument


def tensors_in(value: object) -> list[torch.Tensor]:
    """The tensors in an example, in order; containers as in `Argument`."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, tuple | list):
        return [tensor for item in value for tensor in tensors_in(item)]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in tensors_in(item)]
    if isinstance(value, slice):
        return tensors_in((value.start, value.stop, value.step))
    return []


def operands_of(nodes: Sequence[fx.Node]) -> tuple[fx.Node, ...]:
    """The nodes that these operations take values from and that are not among them, each once, in order of first use."""
    own = set(nodes)
    return tuple(dict.fromkeys(one for node in nodes for one in node.all_input_nodes if one not in own))
