"""Inputs that a graph both writes to and reads, for a backend that makes a graph of its own for the backward pass.

    n.add_(1)                       n.add_(1)
    return w * n           ->       kept = torch.maximum(n, n)
                                    return w * kept

AOTAutograd keeps an input for the backward pass where it could keep what was read, and computes that from the input once more: which by
then has been written to. The mark of a copy says that the copy itself is to be kept. (Inductor removes clones before it asks.)

The clone of a buffer is kept too, whoever writes to the buffer: the program asks for it because somebody will.
"""

from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Final, final

import torch
from torch import fx
from torch.utils.checkpoint import CheckpointPolicy

from framesmith.graph.arguments import EXAMPLE, example, tensors_in
from framesmith.graph.data_errors import operator_name
from framesmith.graph.execution import storage_of, storages_of
from framesmith.graph.inputs import Input
from framesmith.graph.lasting_inputs import is_buffer
from framesmith.graph.module_calls import make_plain
from framesmith.graph.purity import IMPURE
from framesmith.guards.sources.base import Source

_MARK: Final = "recompute"
"""The key under which torch's partitioners look for a policy."""
_COMPARABLE: Final = frozenset({
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32,
    torch.int64,
})  # fmt: skip
"""The dtypes of which the larger one of two equal numbers is that number, bit by bit."""


def find_reads(graph: fx.Graph, used: Sequence[Input], written: Collection[Source]) -> list[fx.Node]:
    """The values in inputs of a closed graph of which copies are to be kept, if it will be differentiated."""
    results = graph.output_node().all_input_nodes
    if not any(one.requires_grad for node in results for one in tensors_in(example(node))):
        return []
    memories = _memories(graph, used, written)
    if not (memories.written or memories.buffers):
        return []
    return [operand for node in graph.nodes for operand in _read_by(node, memories)]


def can_be_kept(node: fx.Node) -> bool:
    """Whether there is a copy of a value that a backend keeps."""
    value = example(node)
    assert isinstance(value, torch.Tensor)
    return value.dtype in _COMPARABLE and value.layout is torch.strided and not value.requires_grad


def keep_reads(module: fx.GraphModule, used: Sequence[Input], written: Collection[Source]) -> fx.GraphModule:
    """A module that reads copies of such inputs, each as it is when it is read."""
    memories = _memories(module.graph, used, written)
    graph = fx.Graph()
    made: dict[fx.Node, fx.Node] = {}
    copies: dict[fx.Node, fx.Node] = {}
    for node in module.graph.nodes:
        for operand in _read_by(node, memories):
            if operand not in copies:
                copies[operand] = _copy(graph, made[operand], example(operand))
        read = {operand: copies[operand] for operand in _read_by(node, memories)}
        made[node] = graph.node_copy(node, {**made, **read}.__getitem__)
        if node.meta.get(IMPURE) and not memories.written.isdisjoint(_storages(node.all_input_nodes)):
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
    # a write through `data` is in no version counter
    found = {
        memory
        for node in graph.nodes
        if node.meta.get(IMPURE)
        for memory in _storages([node]) & _storages(node.all_input_nodes[:1]) & inputs
    }
    return _Memories(known | found, {storage_of(fake) for entry, fake in tensors if is_buffer(entry.source)})


def _read_by(node: fx.Node, memories: _Memories) -> Iterator[fx.Node]:
    """The operands in these memories that an operation reads, and neither writes to nor gives on as a view."""
    if node.op not in ("call_function", "call_method"):
        return
    results = _storages([node])
    # what is changed stands first, as in `y.add_(n)`; of another one it is not known which it changes
    is_in_place = not results.isdisjoint(_storages(node.all_input_nodes[:1]))
    if node.meta.get(IMPURE) and not is_in_place:
        return
    is_clone = operator_name(node.op, node.target) == "clone"
    for operand in node.all_input_nodes:
        own = _storages([operand])
        if not isinstance(example(operand), torch.Tensor) or not own.isdisjoint(results):
            continue
        if own <= memories.written or (is_clone and own <= memories.buffers and can_be_kept(operand)):
            yield operand


def _storages(nodes: Sequence[fx.Node]) -> set[int]:
    return {storage for node in nodes for storage in storages_of(node)}


def _copy(graph: fx.Graph, node: fx.Node, value: object) -> fx.Node:
    assert isinstance(value, torch.Tensor)
    copy = graph.call_function(torch.maximum, (node, node))
    copy.meta = {EXAMPLE: torch.maximum(value, value), _MARK: CheckpointPolicy.MUST_SAVE}
    return copy
