"""Levels of forward-mode differentiation inside a graph: entering one and leaving it are operations.

So is what makes dual tensors and takes them apart (`torch._VF._make_dual`, `_unpack_dual`).

Leaving a level takes the tangents off all tensors that have one, so nothing brings a level back that was left. Not here: the number
of levels that torch's Python code counts (`torch.autograd.forward_ad`), which a trace models as any global variable.
"""

import threading
from typing import Final, final

import torch
from torch import fx

from framesmith.graph.nodes.arguments import example, tensors_in


@final
class _OpenLevels(threading.local):
    """The levels that operations of graphs have entered in this thread and not left. torch gives only one at a time."""

    levels: tuple[int, ...] = ()


_THREAD: Final = _OpenLevels()


def enter_dual_level() -> int:
    """Enter a level; its number. An operation of graphs. RuntimeError if there is one already."""
    level: int = torch._C._enter_dual_level()
    _THREAD.levels = (*_THREAD.levels, level)
    return level


def exit_dual_level(level: int) -> None:
    """Leave that level. An operation of graphs."""
    torch._C._exit_dual_level(level=level)
    _THREAD.levels = tuple(one for one in _THREAD.levels if one != level)


LEVEL_SWITCHES: Final[frozenset[object]] = frozenset({enter_dual_level, exit_dual_level})


def open_levels() -> tuple[int, ...]:
    """The levels that this thread has entered by operations of graphs, the innermost last."""
    return _THREAD.levels


def leave_levels(wanted: tuple[int, ...]) -> None:
    """Leave the levels that are not among those."""
    for level in reversed(_THREAD.levels):
        if level not in wanted:
            exit_dual_level(level)


def differentiates_in_levels(graph: fx.Graph) -> bool:
    """Whether what a closed graph computes inside of a level requires gradients: AOTAutograd fails on those of tangents."""
    is_inside = False
    for node in graph.nodes:
        if node.target is enter_dual_level:
            is_inside = True
        elif node.target is exit_dual_level:
            is_inside = False
        elif is_inside and any(tensor.requires_grad for tensor in tensors_in(example(node))):
            return True
    return False
