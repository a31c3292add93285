"""`p.data = v` of an existing tensor, for a backend that replaces the captured operations: the store is made behind the graph.

    d = p.data; v = d - g; setattr(p, "data", v); return (p * y,)
    ->   d = p.data; v = d - g; p_1 = with_data(p, v); return (p_1 * y, v)      then `p.data = v`

What uses `p` behind the store gets `v` in its place, with the history of `p` where it is differentiated. A store behind a use of `p` that a
gradient needs breaks the graph (`write_data`), and a graph behind which data may be stored is treated as one with stores: what eager saves of
its inputs decides what the backward pass reads (`saved_operands`). Where that is not known, the captured operations run, with the stores.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast, final

import torch
from torch import fx
from torch._higher_order_ops.wrap import tag_activation_checkpoint
from torch.utils.checkpoint import CheckpointPolicy

from framesmith.graph.backends.saved_history import Saved, saved_by_nodes
from framesmith.graph.backends.saved_operands import Reads, Store, save_as_eager
from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT
from framesmith.graph.breaks.breaks import GraphBreak
from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.inputs.inputs import Input
from framesmith.graph.inputs.writes import Writes
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.operations.random_draws import checkpoint_with_random_numbers
from framesmith.graph.replacing_backends import Reliance

STORED: Final = "framesmith_stored"
"""The key in the `meta` of a module under which there are the names of what gets new data behind it."""
Stores: TypeAlias = Sequence[tuple[fx.Node, fx.Node, Mapping[str, object]]]
"""The inputs, what they get, and the metadata of the stores, in the order of the program."""
_CHECKPOINTS: Final = (tag_activation_checkpoint, checkpoint_with_random_numbers)


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


def _reads_of(stand_in: fx.Node | None, memory: int, saved: Sequence[tuple[fx.Node, Saved]]) -> Reads:
    """What eager saves of the tensor that something stands for, and of its value, which have a memory."""
    reads, own, views = Reads(0), None, set[fx.Node]()
    if stand_in is not None:
        own, views = stand_in.meta[EXAMPLE], _views_of(stand_in, memory)
    for node, found in saved:
        if not found.is_known:
            return ~Reads(0)
        if any(one is own for one in found.tensors):
            is_direct = sum(one is own for one in found.tensors) == sum(one is own for one in found.direct)
            reads |= Reads.TENSOR if is_direct else Reads.TENSOR | Reads.RESULTS
        if any(one is not own and storage_of(one) == memory for one in found.tensors):
            operands = {one for one in node.all_input_nodes if _has_memory(one, memory)}
            reads |= Reads.VIEWS if operands & views or not operands else Reads(0)
            reads |= Reads.VALUE if operands - views or not operands else Reads(0)
    return reads


def _store_in_graph(graph: fx.Graph, stores: Stores, stand_ins: Mapping[object, fx.Node]) -> None:
    """Put the stores into a graph again, that runs as it was captured: before what stood for their tensors, which is the tensors then."""
    behind = dict[fx.Node, fx.Node]()
    for tensor, value, meta in reversed(stores):
        stand_in = stand_ins.get((tensor, value))
        with graph.inserting_before(stand_in or behind.get(tensor, graph.output_node())):
            behind[tensor] = graph.call_function(setattr, (tensor, "data", value))
            behind[tensor].meta.update(meta)
        if stand_in is not None:
            stand_in.replace_all_uses_with(tensor)
            graph.erase_node(stand_in)


def _views_of(node: fx.Node, memory: int) -> set[fx.Node]:
    """A node, and what is computed from it and has its memory."""
    todo, seen = [node], {node}
    while todo:
        more = {user for user in todo.pop().users if user.op != "output" and _has_memory(user, memory)} - seen
        seen |= more
        todo += more
    return seen


def _has_memory(node: fx.Node, memory: int) -> bool:
    return memory in map(storage_of, _tensors_of([node]))


def _tensors_of(nodes: Iterable[fx.Node]) -> Sequence[torch.Tensor]:
    return [one for node in nodes for one in tensors_in(node.meta.get(EXAMPLE))]


def _keep_memory(graph: fx.Graph, memory: int) -> None:
    """Ask AOTAutograd not to compute what has a memory again, in a backward pass."""
    for node in graph.nodes:
        if node.op not in ("placeholder", "output") and _has_memory(node, memory):
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE


@final
class StoresBehind:
    """What is to be done about the stores of a graph, which is closed and has not been given to the backend: those that were taken out of
    it, and one that the program makes next."""

    def __init__(
        self, graph: fx.Graph, stores: Stores, used: Sequence[Input], writes: Writes, reliance: Reliance
    ) -> None:
        self._stores: list[tuple[fx.Node, fx.Node, Reads]] = []
        self._reads: dict[fx.Node, Reads] = {}
        self._counts: dict[fx.Node, int] = {}
        self.why_captured: str | None = None
        names = tuple(writes.name_of(tensor) for tensor, _, _ in stores)
        self.meta: Mapping[str, object] = {STORED: names} if names else {}
        may_store = writes.is_store_next or writes.may_store_later
        has_gradients = may_store and any(one.requires_grad for one in _tensors_of(graph.nodes))
        if stores or (has_gradients and not reliance.ask()):
            self._plan(graph, stores, used, writes)

    def _plan(self, graph: fx.Graph, stores: Stores, used: Sequence[Input], writes: Writes) -> None:
        ends = _tensors_of([*(entry.node for entry in used), *_results_of(graph)])
        saved = list(saved_by_nodes(graph, ends))
        stand_ins = dict[object, fx.Node](
            (node.args, node) for node in writes.stand_ins.values() if not node._erased
        )
        sources = {entry.node: entry.source for entry in used}
        for tensor, value, _ in stores:
            memory = storage_of(value.meta[EXAMPLE])
            reads = _reads_of(stand_ins.get((tensor, value)), memory, saved)
            self._stores.append((tensor, value, reads))
            self._counts[tensor] = tensor.meta[EXAMPLE]._version - writes.first_version(sources[tensor])
            if reads:
                _keep_memory(graph, memory)
        for node in sources:
            memories = list(map(storage_of, _tensors_of([node])))
            self._reads[node] = _reads_of(node, memories[0], saved) if len(memories) == 1 else Reads(0)
        self.why_captured = self._find_reason(graph, used, stand_ins.values(), writes, saved)
        if self.why_captured is not None:
            self.meta = {}
            _store_in_graph(graph, stores, stand_ins)

    def _find_reason(
        self,
        graph: fx.Graph,
        used: Sequence[Input],
        stand_ins: Iterable[fx.Node],
        writes: Writes,
        saved: Iterable[tuple[fx.Node, Saved]],
    ) -> str | None:
        """Why only the captured operations do what eager does."""
        results = _tensors_of(_results_of(graph))
        of_inputs = {*map(storage_of, _tensors_of(entry.node for entry in used))}
        if writes.is_store_next:
            every = [*self._reads.values(), *(reads for _, _, reads in self._stores)]
            shared = [
                reads
                for _, value, reads in self._stores
                if not of_inputs.isdisjoint(map(storage_of, _tensors_of([value])))
            ]
            if any(Reads.TENSOR in reads for reads in shared) or any(
                Reads.TENSOR in reads and reads != Reads.TENSOR for reads in every
            ):
                return "data are replaced behind it, and a gradient needs the old ones with the new ones"
            ids = {id(one) for one in results if one.requires_grad}
            if any(id(one) in ids for _, found in saved for one in found.tensors):
                return "data are replaced behind it, maybe of a result that a gradient needs"
        if any(node.target in _CHECKPOINTS for node in graph.nodes):
            return "data are replaced, of which a checkpoint computes again"
        memories = [storage_of(entry.value) for entry in used if isinstance(entry.value, torch.Tensor)]
        if self._stores and len(set(memories)) < len(memories):
            return "data are replaced of inputs that share memory"
        seen = of_inputs & {*map(storage_of, _tensors_of(stand_ins))}
        if any(one.requires_grad and storage_of(one) in seen for one in results):
            return "a result has a history, and the memory of another input that is the data of a tensor now"
        return None

    def behind(
        self, call: Callable[..., tuple[object, ...]], graph: fx.Graph, used: Sequence[Input]
    ) -> Callable[..., tuple[object, ...]]:
        """The call of the graph with stores of its results in its inputs."""
        if not self._reads or self.why_captured is not None:
            return call
        inputs = [entry.node for entry in used]
        results = list(cast(Sequence[object], graph.output_node().args[0]))
        stores = [Store(inputs.index(one), results.index(value), reads) for one, value, reads in self._stores]
        of_inputs = [self._reads.get(node, Reads(0)) for node in inputs]
        counts = {inputs.index(tensor): count for tensor, count in self._counts.items()}
        replaced = counts.keys()

        def run(*values: object) -> tuple[object, ...]:
            versions = {place: cast(torch.Tensor, values[place])._version for place in replaced}
            with save_as_eager(values, replaced) as saved:
                results = call(*values)
            saved.give_inputs(of_inputs)
            for store in stores:
                tensor = cast(torch.Tensor, values[store.tensor])
                tensor.data = cast(torch.Tensor, results[store.value])
                counted = versions[store.tensor] + counts[store.tensor]
                torch._C._autograd._unsafe_set_version_counter((tensor,), (counted,))
                saved.give_value(store, tensor)
            return results

        return run


def _results_of(graph: fx.Graph) -> Sequence[fx.Node]:
    returned = cast(Sequence[object], graph.output_node().args[0])
    return [node for node in returned if isinstance(node, fx.Node)]
