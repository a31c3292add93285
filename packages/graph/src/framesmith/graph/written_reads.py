"""Inputs that a graph both writes to and reads, for a backend that makes a graph of its own for the backward pass.

    n.add_(1)                       n.add_(1)
    return w * n           ->       kept = torch.maximum(n, n)
                                    return w * kept

AOTAutograd keeps an input for the backward pass where it could keep what was read, and computes that from the input once more: which by
then has been written to. The mark of a copy says that the copy itself is to be kept. (Inductor removes clones before it asks.)
"""

from collections.abc import Collection, Iterator, Sequence, Set
from typing import Final

import torch
from torch import fx
from torch.utils.checkpoint import CheckpointPolicy

from framesmith.graph.arguments import EXAMPLE, example, tensors_in
from framesmith.graph.execution import storage_of, storages_of
from framesmith.graph.inputs import Input
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
    """The values in inputs written to by a closed graph that operations of the same graph read, if it will be differentiated."""
    results = graph.output_node().all_input_nodes
    if not any(one.requires_grad for node in results for one in tensors_in(example(node))):
        return []
    memories = _memories(graph, used, written)
    return [operand for node in graph.nodes for operand in _read_by(node, memories)] if memories else []


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
        if node.meta.get(IMPURE) and not memories.isdisjoint(_storages(node.all_input_nodes)):
            copies.clear()
    return make_plain(fx.GraphModule(module, graph, class_name=type(module).__name__))


def _memories(graph: fx.Graph, used: Sequence[Input], written: Collection[Source]) -> Set[int]:
    """The memories of inputs that the graph writes to; a write through `data` is in no version counter."""
    inputs = {storage_of(entry.example) for entry in used if isinstance(entry.example, torch.Tensor)}
    known = {
        storage_of(entry.example)
        for entry in used
        if entry.source in written and isinstance(entry.example, torch.Tensor)
    }
    return known | {
        memory
        for node in graph.nodes
        if node.meta.get(IMPURE)
        for memory in _storages([node]) & _storages(node.all_input_nodes[:1]) & inputs
    }


def _read_by(node: fx.Node, memories: Set[int]) -> Iterator[fx.Node]:
    """The operands in these memories that an operation reads, and neither writes to nor gives on as a view."""
    if node.op not in ("call_function", "call_method"):
        return
    results = _storages([node])
    # what is changed stands first, as in `y.add_(n)`; of another one it is not known which it changes
    is_in_place = not results.isdisjoint(_storages(node.all_input_nodes[:1]))
    if node.meta.get(IMPURE) and not is_in_place:
        return
    for operand in node.all_input_nodes:
        own = _storages([operand])
        if isinstance(example(operand), torch.Tensor) and own <= memories and own.isdisjoint(results):
            yield operand


def _storages(nodes: Sequence[fx.Node]) -> set[int]:
    return {storage for node in nodes for storage in storages_of(node)}


def _copy(graph: fx.Graph, node: fx.Node, value: object) -> fx.Node:
    assert isinstance(value, torch.Tensor)
    copy = graph.call_function(torch.maximum, (node, node))
    copy.meta = {EXAMPLE: torch.maximum(value, value), _MARK: CheckpointPolicy.MUST_SAVE}
    return copy
