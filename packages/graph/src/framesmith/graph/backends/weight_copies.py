"""The copies of weights in lower precision that autocast keeps until its outermost block ends, whatever is written to the weights.

    with torch.autocast("cpu"):
        y = x @ weight              autocast casts the weight, and keeps the copy
        with torch.no_grad():
            weight.add_(1.0)
        return y + x @ weight       reads the copy, from before the write

AOTAutograd's graphs cast each time, so a graph of which the result depends on such a copy runs as it was captured.
"""

from collections.abc import Sequence
from typing import Final

import torch
from torch import fx

from framesmith.graph.environment.ambient import Ambient
from framesmith.graph.fakes.execution import storages_of
from framesmith.graph.fakes.written_memories import memories_written_by
from framesmith.graph.inputs.inputs import Input

_ENABLERS: Final[frozenset[object]] = frozenset({torch.set_autocast_enabled, torch.set_autocast_cpu_enabled})


def reads_old_copies(graph: fx.Graph, used: Sequence[Input], start: Ambient) -> bool:
    """Whether an operation may read the copy of a weight that was written to since. Where autocast is on at the beginning, its caller
    may have made copies of all. `start`: torch's switches when the graph begins."""
    enabled = {device for device, is_on, _ in start.autocast if is_on}
    if not enabled and not any(node.target in _ENABLERS for node in graph.nodes):
        return False
    may_change = any(node.target == "requires_grad_" for node in graph.nodes)
    weights = {entry.node for entry in used if _is_weight(entry.value, may_change)}
    keeps = start.autocast_cache
    copied = set(weights) if enabled and keeps else set[fx.Node]()
    outdated = set[fx.Node]()
    for node in graph.nodes:
        if node.target in _ENABLERS:
            device, is_on = node.args if len(node.args) == 2 else (_old_device(node.target), node.args[0])
            (enabled.add if is_on else enabled.discard)(str(device))
        elif node.target is torch.set_autocast_cache_enabled:
            keeps = bool(node.args[0])
        elif node.target is torch.clear_autocast_cache:
            copied, outdated = set(), set()
        elif changed := memories_written_by(node):
            outdated |= {weight for weight in copied if not changed.isdisjoint(storages_of(weight))}
        elif enabled and keeps:
            read = weights.intersection(node.all_input_nodes)
            if not outdated.isdisjoint(read):
                return True
            copied |= read
    return False


def _old_device(setter: object) -> str:
    return "cpu" if setter is torch.set_autocast_cpu_enabled else "cuda"


def _is_weight(value: object, may_change: bool) -> bool:
    """Whether autocast keeps a copy of it: of leaves alone that require gradients, which may change within the graph."""
    if not isinstance(value, torch.Tensor):
        return False
    with torch._C.DisableTorchFunction():  # no subclass is asked
        requires = may_change or value.requires_grad
        return requires and value.is_leaf and value.dtype is torch.float32 and not value._is_view()
