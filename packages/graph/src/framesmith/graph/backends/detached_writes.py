"""Writes to a leaf past its history, from which AOTAutograd makes a gradient of zeros.

    weight.data.mul_(2)              eager: the weight has no part in the result, and its gradient stays None
    return x * weight.detach()       AOTAutograd: the weight is a result too, and its gradient is 0

An optimizer goes over a parameter without a gradient, and decays one whose gradient is 0. So such a graph runs as it was captured.
Under `torch.no_grad()` it is told that nothing is differentiated.
"""

from collections.abc import Iterator, Sequence, Set

import torch
from torch import fx

from framesmith.graph.backends.differentiated_ends import differentiated_ends
from framesmith.graph.environment.ambient import Ambient
from framesmith.graph.fakes.execution import all_storages, is_differentiated
from framesmith.graph.fakes.written_memories import memories_written_by
from framesmith.graph.inputs.inputs import Input


def writes_past_histories(graph: fx.Graph, used: Sequence[Input], start: Ambient) -> bool:
    """Whether a differentiated graph writes to a leaf of which it computes nothing that is differentiated. `start`: torch's switches when
    the graph begins."""
    if not differentiated_ends(graph):
        return False
    leaves = [entry.node for entry in used if _is_leaf(entry.value)]
    apart = [node for node in leaves if not any(map(is_differentiated, node.users))]
    return any(True for _ in _writes_where_recorded(graph, all_storages(apart), start))


def _is_leaf(value: object) -> bool:
    if not isinstance(value, torch.Tensor):
        return False
    with torch._C.DisableTorchFunction():  # no subclass is asked
        return value.is_leaf and value.requires_grad


def writes_unseen(graph: fx.Graph, used: Sequence[Input], start: Ambient) -> bool:
    """Whether a graph that begins without gradients writes to an input where they are on, what has a history or gets one: a
    break inside of `torch.no_grad()`, or `torch.enable_grad()` below it. AOTAutograd writes to inputs in the mode of the beginning.
    Where the graph computes gradients, a write past the history counts too: such an input does not require them in AOTAutograd's graph."""
    if start.grad:
        return False
    computes = any(graph.find_nodes(op="call_function", target=torch.autograd.grad))
    memory = all_storages(entry.node for entry in used)
    detached = all_storages(entry.node for entry in used if computes and is_differentiated(entry.node))
    return any(True for _ in _writes_where_recorded(graph, detached, start)) or any(
        is_differentiated(operand)
        for node in _writes_where_recorded(graph, memory, start)
        for operand in (node, *node.all_input_nodes)
    )


def _writes_where_recorded(graph: fx.Graph, memory: Set[int], start: Ambient) -> Iterator[fx.Node]:
    """What writes to one of these memories where the gradient mode is on."""
    records = start.grad
    for node in graph.nodes if memory else ():
        if node.target is torch._C._set_grad_enabled:
            records = bool(node.args[0])
        elif records and not memory.isdisjoint(memories_written_by(node)):
            yield node
