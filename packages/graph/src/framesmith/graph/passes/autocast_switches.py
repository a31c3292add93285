"""Drops switches of autocast that set what is set already: each block of autocast writes its settings and puts back all of them."""

from collections.abc import Callable, Hashable
from types import BuiltinFunctionType
from typing import Final

import torch
from torch import fx

from framesmith.graph.environment.ambient import Ambient

_SETTERS: Final[dict[Callable[..., object], int]] = {
    torch.set_autocast_enabled: 1,
    torch.set_autocast_dtype: 1,
    torch.set_autocast_cache_enabled: 0,
}
"""The functions by how many arguments say which switch it is; the value stands behind them."""
_OTHERS: Final = frozenset(
    getattr(torch, name)
    for name in dir(torch)
    if name.startswith("set_autocast_") and getattr(torch, name) not in _SETTERS
)


def drop_idle_switches(graph: fx.Graph, start: Ambient) -> int:
    """Erase them. `start`: the switches with which the graph begins. Those in force at each operation do not change. Returns how many
    were erased."""
    if not any(graph.find_nodes(op="call_function", target=one, sort=False) for one in _SETTERS):
        return 0
    state: dict[Hashable, object] = {(torch.set_autocast_cache_enabled,): start.autocast_cache}
    for device, enabled, dtype in start.autocast:
        state[torch.set_autocast_enabled, device] = enabled
        state[torch.set_autocast_dtype, device] = dtype
    erased = 0
    for node in list(graph.nodes):
        # the hash of anything else may be code of the program
        if node.op != "call_function" or not isinstance(node.target, BuiltinFunctionType):
            continue
        names = _SETTERS.get(node.target)
        if names is None and node.target not in _OTHERS:
            continue
        if names is None or len(node.args) != names + 1 or node.kwargs or node.users:
            state.clear()  # an older form, of which it is not said what it sets
            continue
        key, value = (node.target, *node.args[:names]), node.args[names]
        if key in state and state[key] is value:
            graph.erase_node(node)
            erased += 1
        state[key] = value
    return erased
