"""Drops what a recorded graph does not need. Works on a closed graph (one with its output), in place.

Before: `a = x + 1; b = a * 2; no_grad on; no_grad off; return x * 3`. After: `return x * 3`.
Operations that change something stay, see `purity`, and those that may raise, see `data_errors` and `missing_kernels`.
"""

from typing import Final

import torch
from torch import fx

from framesmith.graph.environment.dual_levels import LEVEL_SWITCHES
from framesmith.graph.environment.inference_blocks import is_block_switch
from framesmith.graph.operations.data_errors import has_wild_number, may_raise
from framesmith.graph.operations.missing_kernels import may_be_refused
from framesmith.graph.operations.purity import is_pure
from framesmith.graph.operations.unchecked_arguments import may_refuse_arguments

_SET_GRAD = torch._C._set_grad_enabled
STAYS: Final = "stays"
"""The key of the mark of a placeholder that stays though nothing uses it."""


def drop_dead_nodes(graph: fx.Graph) -> int:
    """Dead code elimination: erase unused pure operations that cannot raise, last first. Returns how many."""
    count = 0
    # Backwards, since the operands of an erased node may be unused then.
    for node in reversed(list(graph.nodes)):
        if not node.users and is_pure(node) and not _stays(node):
            graph.erase_node(node)
            count += 1
    return count


def _stays(node: fx.Node) -> bool:
    # a backward pass frees what it went through, also if nobody takes its gradients
    if node.target is torch.autograd.grad:
        return True
    return may_raise(node) or may_be_refused(node) or has_wild_number(node) or may_refuse_arguments(node)


def drop_unused_inputs(graph: fx.Graph) -> list[fx.Node]:
    """Erase placeholders without users, but for those that are marked to stay; returns those that stay, in order."""
    kept: list[fx.Node] = []
    for node in list(graph.find_nodes(op="placeholder")):
        if node.users or STAYS in node.meta:
            kept.append(node)
        else:
            graph.erase_node(node)
    return kept


def collapse_grad_switches(graph: fx.Graph, initial: bool) -> int:
    """Erase switches of the grad mode that another switch overrides before any operation, and those without an effect.

    `initial` is the mode in which the graph starts. The mode in force at each operation and at the end does not change.
    Returns how many were erased.
    """
    if not graph.find_nodes(op="call_function", target=_SET_GRAD, sort=False):
        return 0
    erased = 0
    pending: fx.Node | None = None
    for node in list(graph.nodes):
        # They compute nothing, under any mode.
        if node.op in ("placeholder", "get_attr"):
            continue
        if _is_switch(node):
            if pending is not None:
                graph.erase_node(pending)
                erased += 1
            pending = node
        else:
            pending = None
    mode = initial
    for node in list(graph.nodes):
        if _is_switch(node):
            wanted = bool(node.args[0])
            if wanted == mode:
                graph.erase_node(node)
                erased += 1
            mode = wanted
    return erased


def _is_switch(node: fx.Node) -> bool:
    return (
        node.op == "call_function"
        and node.target is _SET_GRAD
        and len(node.args) == 1
        and isinstance(node.args[0], bool)
        and not node.users
    )


def has_work(graph: fx.Graph) -> bool:
    """Whether any operation is left. Switches alone do not count: the caller of the graph sets the final mode itself."""
    for node in graph.nodes:
        if node.op not in ("call_function", "call_method"):
            continue
        if not (_is_switch(node) or is_block_switch(node) or node.target in LEVEL_SWITCHES):
            return True
    return False
