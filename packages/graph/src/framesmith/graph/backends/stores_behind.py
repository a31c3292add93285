"""The stores of data behind a graph (`data_stores`), and those that the program may make next: what a backward pass reads then.

What eager saves of the inputs decides (`saved_reads`, `saved_operands`). Where that is not known, the captured operations run, with the stores
among them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast, final

import torch
from torch import fx
from torch._higher_order_ops.wrap import tag_activation_checkpoint
from torch.utils.checkpoint import CheckpointPolicy

from framesmith.graph.backends.data_stores import Stores
from framesmith.graph.backends.held_inputs import HeldInputs
from framesmith.graph.backends.saved_operands import Reads, Store, save_as_eager
from framesmith.graph.backends.saved_reads import SavedReads, has_memory, tensors_of
from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.fakes.histories import last_operation
from framesmith.graph.inputs.inputs import Input
from framesmith.graph.inputs.writes import Writes
from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.operations.random_draws import checkpoint_with_random_numbers
from framesmith.graph.replacing_backends import Reliance
from framesmith.graph.running.failures import STEP

STORED: Final = "framesmith_stored"
"""The key in the `meta` of a module under which there are the names of what gets new data behind it."""
_CHECKPOINTS: Final = (tag_activation_checkpoint, checkpoint_with_random_numbers)


def _store_in_graph(graph: fx.Graph, stores: Stores, stand_ins: Mapping[object, fx.Node]) -> None:
    """Put the stores into a graph again, that runs as it was captured: each where the program makes it, since what comes behind may raise."""
    for tensor, value, meta in stores:
        with graph.inserting_before(_first_behind(graph, meta)):
            graph.call_function(setattr, (tensor, "data", value)).meta.update(meta)
        stand_in = stand_ins.get((tensor, value))
        if stand_in is not None:
            stand_in.replace_all_uses_with(tensor)
            graph.erase_node(stand_in)


def _first_behind(graph: fx.Graph, meta: Mapping[str, object]) -> fx.Node:
    """The first node that was recorded behind an operation with this metadata."""
    number = cast(tuple[int, int], meta[STEP])[1]
    behind = (node for node in graph.nodes if node.meta.get(STEP, (-1, -1))[1] > number)
    return next(behind, graph.output_node())


def _keep_memory(graph: fx.Graph, memory: int) -> None:
    """Ask AOTAutograd not to compute what has a memory again, in a backward pass."""
    for node in graph.nodes:
        if node.op not in ("placeholder", "output") and has_memory(node, memory):
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE


def _results_of(graph: fx.Graph) -> Sequence[fx.Node]:
    returned = cast(Sequence[object], graph.output_node().args[0])
    return [node for node in returned if isinstance(node, fx.Node)]


@final
@dataclass(frozen=True)
class _Situation:
    """A graph with stores behind it: what decides whether the backend's operations may run, or only the captured ones."""

    graph: fx.Graph
    used: Sequence[Input]
    saved: SavedReads
    stand_ins: Sequence[fx.Node]
    is_store_next: bool
    are_values_written: bool
    stores: Sequence[tuple[fx.Node, Reads]]
    """What is stored, and what is read of it."""
    reads: Mapping[fx.Node, Reads]
    """What is read of the inputs."""

    @cached_property
    def inputs(self) -> set[int]:
        """Their memory."""
        return {*map(storage_of, tensors_of(entry.node for entry in self.used))}

    @cached_property
    def results(self) -> Sequence[torch.Tensor]:
        """What it returns."""
        return tensors_of(_results_of(self.graph))

    def needs_old_and_new(self) -> bool:
        if not self.is_store_next:
            return False
        every = [*self.reads.values(), *(reads for _, reads in self.stores)]
        shared = [
            reads
            for value, reads in self.stores
            if not self.inputs.isdisjoint(map(storage_of, tensors_of([value])))
        ]
        return any(Reads.TENSOR in reads for reads in shared) or any(
            Reads.TENSOR in reads and reads != Reads.TENSOR for reads in every
        )

    def saves_results(self) -> bool:
        inputs = {*map(id, tensors_of(entry.node for entry in self.used))}
        return self.is_store_next and not self.saved.ids.isdisjoint({*map(id, self.results)} - inputs)

    def has_checkpoints(self) -> bool:
        return any(node.target in _CHECKPOINTS for node in self.graph.nodes)

    def has_shared_inputs(self) -> bool:
        memories = [storage_of(entry.value) for entry in self.used if isinstance(entry.value, torch.Tensor)]
        return bool(self.stores) and len(set(memories)) < len(memories)

    def returns_views_of_new_data(self) -> bool:
        stored = {value for value, _ in self.stores}
        memories = {*map(storage_of, tensors_of(stored))}
        others = {*_results_of(self.graph)} - stored - {entry.node for entry in self.used}
        return any(storage_of(one) in memories for one in tensors_of(others))

    def returns_other_memory(self) -> bool:
        seen = self.inputs & {*map(storage_of, tensors_of(self.stand_ins))}
        return any(one.requires_grad and storage_of(one) in seen for one in self.results)


_CHANGED: Final = "what a gradient needs is written to afterwards"
_REASONS: Final[tuple[tuple[Callable[[_Situation], bool], str], ...]] = (
    (lambda one: one.saved.is_changed, _CHANGED),
    (
        _Situation.needs_old_and_new,
        "data are replaced behind it, and a gradient needs the old ones with the new ones",
    ),
    (_Situation.saves_results, "data are replaced behind it, maybe of a result that a gradient needs"),
    (lambda one: one.are_values_written, "new data of an input are written to"),
    (_Situation.returns_views_of_new_data, "a result has the new data of an input, and its version counter"),
    (_Situation.has_checkpoints, "data are replaced, of which a checkpoint computes again"),
    (_Situation.has_shared_inputs, "data are replaced of inputs that share memory"),
    (
        _Situation.returns_other_memory,
        "a result has a history, and the memory of another input that is the data of a tensor now",
    ),
)
"""Why only the captured operations do what eager does."""


@final
class StoresBehind:
    """What is to be done about the stores of a graph, which is closed and has not been given to the backend: those that were taken out of
    it, and one that the program makes next. `ask` says why else only the captured operations do what eager does."""

    def __init__(
        self,
        graph: fx.Graph,
        stores: Stores,
        used: Sequence[Input],
        writes: Writes,
        reliance: Reliance,
        ask: Callable[[], str | None],
    ) -> None:
        self._stores: list[tuple[fx.Node, fx.Node, Reads]] = []
        self._reads: dict[fx.Node, Reads] = {}
        self._counts: dict[fx.Node, int] = {}
        self._own_memories = 0
        self.why_captured: str | None = None
        names = tuple(writes.name_of(tensor) for tensor, _, _ in stores)
        self.meta: Mapping[str, object] = {STORED: names} if names else {}
        ends = tensors_of([*(entry.node for entry in used), *_results_of(graph)])
        # also where the graph begins without gradients, and turns them on
        self._saves = any(last_operation(one) is not None for one in ends)
        may_store = writes.is_store_next or writes.may_store_later
        has_gradients = may_store and any(one.requires_grad for one in tensors_of(graph.nodes))
        self._is_planned = bool(stores) or (has_gradients and not reliance.ask())
        if self._is_planned or (self._saves and not reliance.is_certain):
            saved = SavedReads(graph, ends)
            self._reads = {entry.node: _reads_of_input(entry.node, saved) for entry in used}
            given = {*map(storage_of, tensors_of(entry.node for entry in used))}
            self._own_memories = len({*saved.memories()} - given)
            if self._is_planned:
                self._plan(graph, stores, used, writes, saved, ask if stores else lambda: None)
            elif saved.is_changed:
                self.why_captured = _CHANGED

    def _plan(
        self,
        graph: fx.Graph,
        stores: Stores,
        used: Sequence[Input],
        writes: Writes,
        saved: SavedReads,
        ask: Callable[[], str | None],
    ) -> None:
        stand_ins = dict[object, fx.Node](
            (node.args, node) for node in writes.stand_ins.values() if not node._erased
        )
        for tensor, value, _ in stores:
            memory = storage_of(value.meta[EXAMPLE])
            reads = saved.reads_of(stand_ins.get((tensor, value)), memory)
            self._stores.append((tensor, value, reads))
            if reads:
                _keep_memory(graph, memory)
        self._counts = _writes_in_place(stores, used, writes)
        situation = _Situation(
            graph,
            used,
            saved,
            tuple(stand_ins.values()),
            writes.is_store_next,
            any(writes.is_written_behind(tensor, value) for tensor, value, _ in stores),
            [(value, reads) for _, value, reads in self._stores],
            self._reads,
        )
        # where the captured operations run, they make the stores too: one behind may raise
        self.why_captured = next((text for is_true, text in _REASONS if is_true(situation)), None) or ask()
        if self.why_captured is not None:
            self.meta = {}
            _store_in_graph(graph, stores, stand_ins)

    def behind(
        self, call: Callable[..., tuple[object, ...]], graph: fx.Graph, used: Sequence[Input]
    ) -> Callable[..., tuple[object, ...]]:
        """The call of the graph with stores of its results in its inputs, and with what a backward pass reads of them held."""
        if self.why_captured is not None:
            return call
        inputs = [entry.node for entry in used]
        if not self._is_planned:
            reads = {place: self._reads[node] for place, node in enumerate(inputs) if node in self._reads}
            histories = [
                place for place, node in enumerate(inputs) if any(map(last_operation, tensors_of([node])))
            ]
            return HeldInputs(reads, histories, self._own_memories).around(call)
        results = list(cast(Sequence[object], graph.output_node().args[0]))
        stores = [Store(inputs.index(one), results.index(value), reads) for one, value, reads in self._stores]
        of_inputs = [self._reads.get(node, Reads(0)) for node in inputs]
        counts = {inputs.index(tensor): count for tensor, count in self._counts.items()}
        replaced = counts.keys()

        def run(*values: object) -> tuple[object, ...]:
            versions = {place: cast(torch.Tensor, values[place])._version for place in replaced}
            with save_as_eager(values, replaced, self._saves) as saved:
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


def _reads_of_input(node: fx.Node, saved: SavedReads) -> Reads:
    memories = list(map(storage_of, tensors_of([node])))
    return saved.reads_of(node, memories[0]) if len(memories) == 1 else Reads(0)


def _writes_in_place(stores: Stores, used: Iterable[Input], writes: Writes) -> dict[fx.Node, int]:
    """How often what gets other data is written to, which its fake counted: `counted_writes` knows tensors by their memory."""
    sources = {entry.node: entry.source for entry in used}
    return {
        tensor: tensor.meta[EXAMPLE]._version - writes.first_version(sources[tensor])
        for tensor, _, _ in stores
    }
