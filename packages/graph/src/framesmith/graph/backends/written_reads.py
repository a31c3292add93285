"""Inputs that a graph both writes to and reads, for a backend that makes a graph of its own for the backward pass.

    n.add_(1)                       n.add_(1)
    return w * n           ->       kept = torch.maximum(n, n)
                                    return w * kept

AOTAutograd keeps an input for the backward pass where it could keep what was read, and computes that from the input once more: which by
then has been written to. The mark of a copy says that the copy itself is to be kept. (Inductor removes clones before it asks.)

The clone of a buffer is kept too, whoever writes to the buffer: the program asks for it because somebody will.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Final, final

import torch
from torch import fx

from framesmith.graph.backends.differentiated_ends import differentiated_ends
from framesmith.graph.backends.kept_values import KEPT, MARK
from framesmith.graph.fakes.execution import all_storages, is_differentiated, storage_of, storages_of
from framesmith.graph.fakes.written_memories import memories_written_by
from framesmith.graph.inputs.inputs import Input
from framesmith.graph.inputs.lasting_inputs import is_buffer
from framesmith.graph.nodes.arguments import EXAMPLE, example
from framesmith.graph.operations.data_errors import operator_name
from framesmith.graph.operations.purity import IMPURE, is_normalization
from framesmith.graph.running.module_calls import make_plain
from framesmith.guards.sources.base import Source

_COMPARABLE: Final = frozenset({
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32,
    torch.int64,
})  # fmt: skip
"""The dtypes of which the larger one of two equal numbers is that number, bit by bit."""


def find_reads(graph: fx.Graph, used: Sequence[Input], written: Collection[Source]) -> list[fx.Node]:
    """The values in inputs of a closed graph of which copies are to be kept, if it will be differentiated."""
    memories = _memories(graph, used, written)
    if not (memories.written or memories.buffers):
        return []
    flow, needed = _slices(graph)
    if not flow:
        return []
    return [operand for node in graph.nodes if node in needed for operand in _read_by(node, memories)]


def find_touched_sources(
    graph: fx.Graph,
    used: Sequence[Input],
    written: Collection[Source],
    stores: Iterable[Sequence[object]] = (),
) -> tuple[Source, ...]:
    """The sources of the inputs to whose memory a closed graph writes, in their order: those of `written`, and those that are written to
    through `data`, as an item of a list or as the statistics of a normalization, which no version counter shows. Also those that get
    other data behind it: `stores` begin with their nodes."""
    memories = {memory for node in graph.nodes for memory in memories_written_by(node)}
    known, stored = frozenset(written), {store[0] for store in stores}
    return tuple(
        entry.source
        for entry in used
        if entry.source in known or entry.node in stored or _lies_in(entry, memories)
    )


def _lies_in(entry: Input, memories: Set[int]) -> bool:
    return isinstance(entry.example, torch.Tensor) and storage_of(entry.example) in memories


def are_written_later(graph: fx.Graph, used: Sequence[Input], written: Collection[Source]) -> bool:
    """Whether an operation through which a gradient goes reads an input that is written to behind it: eager's backward pass raises, or
    finds what was written, as the version counter says."""
    memories = _memories(graph, used, written)
    if not memories.written:
        return False
    flow, _ = _slices(graph)
    later = set[int]()
    for node in reversed(graph.nodes) if flow else ():
        is_read = node in flow and operator_name(node.op, node.target) != "clone"
        if is_read and not later.isdisjoint(all_storages([*_read_by(node, memories)])):
            return True
        later |= _written_by(node)
    return False


def _slices(graph: fx.Graph) -> tuple[Set[fx.Node], Set[fx.Node]]:
    """The operations through which gradients of the results go, of written inputs too, and all from which those results come."""
    flow = differentiated_ends(graph)
    needed = set(flow)
    for node in reversed(graph.nodes):
        if node in needed:
            needed.update(node.all_input_nodes)
        if node in flow:
            flow.update(one for one in node.all_input_nodes if is_differentiated(one))
    return flow, needed


def can_be_kept(node: fx.Node) -> bool:
    """Whether there is a copy of a value that a backend keeps."""
    value = example(node)
    assert isinstance(value, torch.Tensor)
    return value.dtype in _COMPARABLE and value.layout is torch.strided and not value.requires_grad


def keep_reads(module: fx.GraphModule, used: Sequence[Input], written: Collection[Source]) -> fx.GraphModule:
    """A module that reads copies of such inputs, each as it is when it is read."""
    memories = _memories(module.graph, used, written)
    _, needed = _slices(module.graph)
    graph = fx.Graph()
    made: dict[fx.Node, fx.Node] = {}
    copies: dict[fx.Node, fx.Node] = {}
    for node in module.graph.nodes:
        operands = [*_read_by(node, memories)] if node in needed else []
        for operand in operands:
            if operand not in copies:
                copies[operand] = _copy(graph, made[operand], example(operand))
        read = {operand: copies[operand] for operand in operands}
        made[node] = graph.node_copy(node, {**made, **read}.__getitem__)
        if node.meta.get(IMPURE) and not memories.written.isdisjoint(all_storages(node.all_input_nodes)):
            copies.clear()
    return make_plain(fx.GraphModule(module, graph, class_name=type(module).__name__))


@final
@dataclass(frozen=True, slots=True)
class _Memories:
    """The storages of inputs: those that the graph writes to, and those of buffers of modules."""

    written: Set[int]
    buffers: Set[int]


def _memories(graph: fx.Graph, used: Sequence[Input], written: Collection[Source]) -> _Memories:
    tensors = [(entry, entry.example) for entry in used if isinstance(entry.example, torch.Tensor)]
    inputs = {storage_of(fake) for _, fake in tensors}
    known = {storage_of(fake) for entry, fake in tensors if entry.source in written}
    # a write through `data`, or to a list of tensors, is in no version counter
    found = inputs & {memory for node in graph.nodes for memory in _written_by(node)}
    return _Memories(known | found, {storage_of(fake) for entry, fake in tensors if is_buffer(entry.source)})


def _read_by(node: fx.Node, memories: _Memories) -> Iterator[fx.Node]:
    """The operands in these memories that an operation reads, and neither writes to nor gives on as a view."""
    if node.op not in ("call_function", "call_method"):
        return
    results = storages_of(node)
    # what is changed stands first, as in `y.add_(n)`; of another one it is not known which it changes
    is_in_place = not results.isdisjoint(all_storages(node.all_input_nodes[:1]))
    if node.meta.get(IMPURE) and not is_in_place:
        return
    is_clone = operator_name(node.op, node.target) == "clone"
    for operand in node.all_input_nodes:
        own = storages_of(operand)
        if not isinstance(example(operand), torch.Tensor) or not own.isdisjoint(results):
            continue
        if own <= memories.written or (is_clone and own <= memories.buffers and can_be_kept(operand)):
            yield operand


def _written_by(node: fx.Node) -> set[int]:
    """The memories that an operation writes to, but for the statistics of a normalization."""
    return set() if is_normalization(node.target) else memories_written_by(node)


def _copy(graph: fx.Graph, node: fx.Node, value: object) -> fx.Node:
    assert isinstance(value, torch.Tensor)
    copy = graph.call_function(torch.maximum, (node, node))
    copy.meta = {EXAMPLE: torch.maximum(value, value), MARK: KEPT}
    return copy
