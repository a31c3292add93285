"""`p.data = v` of an existing tensor, for a backend that replaces the captured operations: the store is made behind the graph.

    d = p.data; v = d - g; setattr(p, "data", v); return (p * y,)
    ->   d = p.data; v = d - g; p_1 = with_data(p, v); return (p_1 * y, v)      then `p.data = v`

What uses `p` behind the store gets `v` in its place, with the history of `p` where it is differentiated. Nothing is differentiated
through `p` before the store.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Final, TypeAlias, cast, final

import torch
from torch import fx

from framesmith.graph.backends.saved_operands import Store, save_as_eager
from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT
from framesmith.graph.breaks.breaks import GraphBreak
from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.inputs.inputs import Input
from framesmith.graph.inputs.writes import Writes
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.operations.data_errors import operator_name

Stores: TypeAlias = Sequence[tuple[fx.Node, fx.Node]]
"""The inputs, and what they get, in the order of the program."""


_SAVES_ITSELF: Final = frozenset(["mul", "multiply", "pow", "square", "sin", "cos"])
_SAVES_VIEW: Final = frozenset(["linear"])
"""What is known of operations that save an operand. Of any other it is not known which of both it saves."""


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
    may write to such an operand, or to memory that a backward pass may read as that of the operand.
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
                stand_in = writes.stand_ins[store] = record("call_function", with_data, (tensor, value))
            known[tensor] = stand_in
        else:
            known[tensor] = value
    given = cast(Any, (args, dict(kwargs)))  # Any: fx knows no type for arguments that any function takes
    return fx.map_arg(given, lambda node: known.get(node, node)) if known else None


def take_stores(graph: fx.Graph, writes: Writes, kept: Sequence[fx.Node]) -> tuple[Stores, Sequence[fx.Node]]:
    """Take those stores out of the graph that was recorded. It has to return their values as well as what is `kept`, and inputs that it
    would lose, since nothing else uses them."""
    stores = list[tuple[fx.Node, fx.Node]]()
    for node, tensor, value in writes.stores():
        stores.append((tensor, value))
        graph.erase_node(node)
    values = [value for _, value in stores]
    return stores, [*kept, *values, *(tensor for tensor, _ in stores if not tensor.users)]


def _place_stores(
    graph: fx.Graph, stores: Stores, used: Sequence[Input], stand_ins: Set[fx.Node]
) -> Sequence[Store]:
    """Each store by the places of its tensor and of its value, in the graph, which is closed."""
    results = list(cast(Sequence[object], graph.output_node().args[0]))
    inputs = [entry.node for entry in used]
    placed = list[Store]()
    for tensor, value in stores:
        memory, readers = storage_of(value.meta[EXAMPLE]), set[fx.Node]()
        for stand_in in stand_ins & value.users.keys():
            readers |= stand_in.users.keys()
        saved = [_saved_of(node, memory) for node in readers if node.op != "output"]
        reads_tensor, reads_views = any(one[0] for one in saved), any(one[1] for one in saved)
        reads_value = _is_differentiated(value, stand_ins)
        placed.append(
            Store(inputs.index(tensor), results.index(value), reads_tensor, reads_views, reads_value)
        )
    return placed


def _saved_of(node: fx.Node, memory: int) -> tuple[bool, bool]:
    """Whether eager's operation may save the leaf that it is given, and whether a view of it, which keeps the memory of that moment."""
    name = operator_name(node.op, node.target)
    if name in _SAVES_VIEW or memory in map(storage_of, tensors_in(node.meta.get(EXAMPLE))):
        return False, True
    return True, name not in _SAVES_ITSELF


def _is_differentiated(value: fx.Node, stand_ins: Set[fx.Node]) -> bool:
    """Whether a result with a history is computed from a value, but for what reads the stand-ins."""
    todo, seen = [value], set(stand_ins)
    while todo:
        for user in todo.pop().users.keys() - seen:
            if user.op != "output" and any(one.requires_grad for one in tensors_in(user.meta[EXAMPLE])):
                return True
            seen.add(user)
            todo.append(user)
    return False


def store_behind(
    call: Callable[..., tuple[object, ...]],
    graph: fx.Graph,
    stores: Stores,
    used: Sequence[Input],
    writes: Writes,
) -> Callable[..., tuple[object, ...]]:
    """The call of a graph, which is closed, with stores of its results in its inputs."""
    if not stores:
        return call
    placed = _place_stores(graph, stores, used, set(writes.stand_ins.values()))

    def run(*values: object) -> tuple[object, ...]:
        given = cast(Sequence[torch.Tensor], values)
        with save_as_eager(values, [given[store.tensor] for store in placed]) as saved:
            results = call(*values)
        for store in placed:
            tensor, value = given[store.tensor], cast(torch.Tensor, results[store.value])
            tensor.data = value
            for operand in saved if store.reads_tensor or store.reads_views else ():
                if storage_of(operand.tensor) == storage_of(value):
                    operand.belong_to(tensor, store)
        return results

    return run
