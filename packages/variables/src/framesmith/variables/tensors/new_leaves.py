"""New leaves: each call of the entry makes one before the graph, and the graph copies its first value into it.

    p = nn.Parameter(torch.ones(3))     entry: p = new_leaf(...)     graph: ones = torch.ones(3); p.data.copy_(ones), without gradients

A leaf has to be a real one before anything is computed from it, under every backend, so it is an input of the graph. In eager it has
the memory of the tensor that it is made of. That cannot be told from a copy as long as the program does nothing more with that
tensor, which is checked at the end of the trace (`find_shared_memory`).
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Final

import torch
from torch import fx
from torch.utils import _pytree as pytree

from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.nodes.arguments import example
from framesmith.graph.options import is_fixed
from framesmith.guards.sources import NewObject
from framesmith.variables.core import TraceContext
from framesmith.variables.graph_nodes.results import call_node
from framesmith.variables.tensors.tensors import TensorTracker

_SET_GRAD: Final = torch._C._set_grad_enabled


def new_leaf(
    size: tuple[int, ...],
    stride: tuple[int, ...],
    dtype: torch.dtype,
    device: torch.device,
    cls: type[torch.Tensor],
    requires_grad: bool,
) -> torch.Tensor:
    """A parameter, or a plain tensor, with memory of its own, which holds anything."""
    data = torch.empty_strided(size, stride, dtype=dtype, device=device)
    if cls is torch.nn.Parameter:
        return torch.nn.Parameter(data, requires_grad)
    return data.requires_grad_(requires_grad)


def make_leaf(
    tx: TraceContext, data: TensorTracker, cls: type[torch.Tensor], requires_grad: bool
) -> TensorTracker:
    """A new leaf with the value of a tensor for which `explain_no_leaf` gives None."""
    # The number of nodes so far makes the source unique: two leaves of one layout are two objects.
    fake, number = data.fake, tx.graph.length()
    layout = (tuple(fake.shape), tuple(fake.stride()), fake.dtype, fake.device, cls, requires_grad)
    assert number is not None
    source = NewObject(number, new_leaf, layout, "parameter" if cls is torch.nn.Parameter else "leaf")
    # In fake mode the example would be a fake already, and no input can be made of one.
    with tx.graph.pause_recording():
        value = new_leaf(*layout)
    node = tx.graph.tensor_input(source, value)
    leaf = example(node)
    assert isinstance(leaf, torch.Tensor)
    tracker = TensorTracker(node, leaf, cls, source, value)
    # Operations in place give this very fake back, and so this tracker.
    tx.changes.results[id(leaf)] = tracker
    # Looked at when the trace ends, by `find_shared_memory`.
    tx.changes.moved.append(_copy(tx, node, data.graph_node(tx)))
    return tracker


def _copy(tx: TraceContext, leaf: fx.Node, data: fx.Node) -> fx.Node:
    # Through `data` the version counter of the leaf does not count it: in eager nothing is written.
    memory = call_node(tx, getattr, (leaf, "data"))
    # A switch that turns nothing would be a node for nothing.
    if not torch.is_grad_enabled():
        return call_node(tx, "copy_", (memory, data))
    # The memory is to get no history.
    call_node(tx, _SET_GRAD, (False,))
    try:
        return call_node(tx, "copy_", (memory, data))
    finally:
        call_node(tx, _SET_GRAD, (True,))


def explain_no_leaf(tx: TraceContext, data: TensorTracker, requires_grad: bool) -> str | None:
    """Why a graph cannot hold the new leaf, to be appended to what happened; None if it can."""
    fake = data.fake
    # In eager the parameter shares that memory, and the program, or its caller, can see writes through both.
    if data.source is not None or any(
        storage_of(known) == storage_of(fake) for known in _inputs(tx.graph.graph)
    ):
        return " over the memory of an existing tensor"
    # A nested graph may run several times, or not at all; the entry makes the leaf once.
    if tx.graph.length() is None or fake.device.type == "meta":
        return ""
    if torch.is_inference_mode_enabled() or fake.is_inference() or fake.is_conj() or fake.is_neg():
        return ""
    # The entry makes the leaf before the graph has computed any size.
    if not all(map(is_fixed, (*fake.shape, *fake.stride(), fake.storage_offset()))):
        return " with a size that may change"
    # A leaf of the entry has memory of exactly its own size.
    if fake.storage_offset() or fake.untyped_storage().nbytes() != fake.numel() * fake.itemsize:
        return " over a part of the memory of another tensor"
    if data.cls is not torch.Tensor:
        return ""
    if requires_grad and not (fake.is_floating_point() or fake.is_complex()):
        return ""  # torch raises
    return None


def _inputs(graph: fx.Graph) -> Iterator[torch.Tensor]:
    # Tensors of the program are inputs, or attributes of the graph module.
    for node in (*graph.find_nodes(op="placeholder"), *graph.find_nodes(op="get_attr")):
        value = example(node)
        if isinstance(value, torch.Tensor):
            yield value


def find_shared_memory(moved: Sequence[fx.Node], outputs: Sequence[fx.Node]) -> fx.Node | None:
    """The first of these copies into a parameter whose operand is used, or returned, afterwards. In eager the two share memory."""
    # A roll-back has dropped some.
    copies = [copy for copy in moved if not copy._erased]
    memories_of = cache(_memories)
    position, last_use = dict[fx.Node, int](), dict[int, float]()
    nodes = chain.from_iterable(graph.nodes for graph in dict.fromkeys(copy.graph for copy in copies))
    for index, node in enumerate(nodes):
        position[node] = index
        last_use.update((memory, index) for used in node.all_input_nodes for memory in memories_of(used))
    last_use.update((memory, math.inf) for node in outputs for memory in memories_of(node))
    for copy in copies:
        (memory,) = memories_of(_operand(copy))
        if last_use[memory] > position[copy]:
            return copy
    return None


def _operand(copy: fx.Node) -> fx.Node:
    data = copy.args[1]
    assert isinstance(data, fx.Node)
    return data


def _memories(node: fx.Node) -> list[int]:
    return [
        storage_of(value) for value in pytree.tree_leaves(example(node)) if isinstance(value, torch.Tensor)
    ]
