"""`p.data = v` of an existing tensor, for a backend that replaces the captured operations: the store is made behind the graph.

    d = p.data; v = d - g; setattr(p, "data", v); return (p * y,)
    ->   d = p.data; v = d - g; p_1 = with_data(p, v); return (p_1 * y, v)      then `p.data = v`

What uses `p` behind the store gets `v` in its place, with the history of `p` where it is differentiated. A store behind a use of `p` that a
gradient needs breaks the graph (`write_data`). What is done behind the graph: `stores_behind`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast, final

import torch
from torch import fx

from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT
from framesmith.graph.breaks.breaks import GraphBreak
from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.inputs.writes import Writes
from framesmith.graph.nodes.arguments import EXAMPLE

Stores: TypeAlias = Sequence[tuple[fx.Node, fx.Node, Mapping[str, object]]]
"""The inputs, what they get, and the metadata of the stores, in the order of the program."""


@final
class _WithData(torch.autograd.Function):
    """The second operand, with the first one's history."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Shares the memory of `value`."""
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        """The gradient of `tensor`."""
        return gradient, None


def with_data(tensor: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """What a leaf is to an operation that is differentiated behind `tensor.data = value`: a target in graphs."""
    return cast(torch.Tensor, _WithData.apply(tensor, value))  # type: ignore[no-untyped-call]


def with_stand_ins(
    writes: Writes,
    record: Callable[..., fx.Node],
    call: tuple[object, tuple[object, ...], Mapping[str, object]],
    tensors: Sequence[torch.Tensor],
    *,
    may_write: bool,
) -> tuple[Any, Any] | None:
    """The arguments of a call without the operands whose `data` is to be stored behind the graph: something stands for each. None where it
    has none; a value may be stored there once more.

    `call`: target, arguments, keywords, as nodes; `tensors` among them. `record`: of the recorder. Raises GraphBreak where the operation
    may write to such an operand, or to memory that a backward pass may read as that of the operand, and where two operands are to have
    one memory.
    """
    target, args, kwargs = call
    if target is with_data:
        return None
    known = dict[fx.Node, fx.Node]()
    used = {id(tensor) for tensor in (tensors[1:] if target is setattr else tensors)}
    for store, (tensor, value) in writes.last_stores().items():
        is_used, stand_in = id(tensor.meta[EXAMPLE]) in used, writes.stand_in(store)
        memory = storage_of(value.meta[EXAMPLE])
        if may_write and (is_used or (stand_in is not None and memory in map(storage_of, tensors))):
            name = writes.name_of(tensor)
            raise GraphBreak(BACKEND_LIMIT, f"{name}, whose data was replaced before, as an operand")
        if not is_used:
            continue
        if torch.is_grad_enabled():
            if stand_in is None:
                if writes.is_for_another(store):
                    raise GraphBreak(
                        BACKEND_LIMIT,
                        f"{writes.name_of(tensor)}, whose new data are those of another tensor too, as an operand",
                    )
                stand_in = writes.stand_ins[store] = record("call_function", with_data, (tensor, value))
            known[tensor] = stand_in
        else:
            known[tensor] = value
    given = cast(Any, (args, dict(kwargs)))  # Any: fx knows no type for arguments that any function takes
    return fx.map_arg(given, lambda node: known.get(node, node)) if known else None


def take_stores(graph: fx.Graph, writes: Writes, kept: Sequence[fx.Node]) -> tuple[Stores, Sequence[fx.Node]]:
    """Take those stores out of the graph that was recorded. It has to return their values as well as what is `kept`, and inputs that it
    would lose, since nothing else uses them."""
    stores = [(tensor, value, dict(node.meta)) for node, tensor, value in writes.stores()]
    for node, _, _ in writes.stores():
        graph.erase_node(node)
    values = [value for _, value, _ in stores]
    return stores, [*kept, *values, *(tensor for tensor, _, _ in stores if not tensor.users)]
