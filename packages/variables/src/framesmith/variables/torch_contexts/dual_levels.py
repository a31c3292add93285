"""Forward-mode differentiation (`torch.autograd.forward_ad`): levels and dual tensors are operations of the graph.

    with dual_level():                       level = enter_dual_level()
        d = make_dual(x, t)                  d = _make_dual(x, t, level=0)
        y = unpack_dual(d * d).tangent       y = _unpack_dual(d * d, level=0)[1]
                                             exit_dual_level(0)

torch's Python code around them is traced. The level is really entered while tracing, so that fakes have tangents. One that is not
left in the same graph begins natively (`Launch`): what takes over behind the graph would need its dual tensors.
"""

from collections.abc import Callable
from typing import Final, final

import torch
from torch._functorch import predispatch
from torch.autograd import forward_ad

from framesmith.graph import BreakKind, GraphBreak, register
from framesmith.graph.environment.dual_levels import enter_dual_level, exit_dual_level, open_levels
from framesmith.graph.operations.purity import IMPURE
from framesmith.variables.core import Constant, Setting, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import check_modes, record, record_node

ROWS: Final = Rows()

DUAL_LEVEL: Final = register(
    BreakKind(
        "dual-level",
        "a level of forward-mode differentiation that is not left in the graph",
        "Leaving a level takes the tangents off its tensors, so everything in between has to be in one graph.",
        "Enter and leave the level in the compiled function, with nothing in between that breaks the graph; or use torch.func.jvp.",
    )
)
_LEVELS: Final = Setting("levels of forward-mode differentiation", open_levels, None)


@final
class OpenLevel:
    """A level that the trace has entered: a `Launch`. `ended` is the step that left it."""

    def __init__(self, tx: TraceContext, level: int) -> None:
        self.level = level
        self.step = tx.graph.step
        self.ended: int | None = None
        self.escapes = False
        self.graph = tx.graph.graph

    @property
    def position(self) -> str | None:
        """Inside of it: what would go on behind the operation needs its tangents."""
        return "inside of a level of forward-mode differentiation" if self.ended is None else None

    def explain(self) -> GraphBreak:
        """The break at which the level is entered natively."""
        return GraphBreak(DUAL_LEVEL, "dual_level()")


@ROWS.call(predispatch._enter_dual_level)
def enter(tx: TraceContext) -> Tracker:
    """Enter a level, and give its number."""
    if open_levels():
        raise GraphBreak(DUAL_LEVEL, "a level inside of another one")
    if tx.graph.length() is None:
        raise GraphBreak(DUAL_LEVEL, "a level in a function that the graph calls")
    check_modes(tx)
    tx.changes.ambient.touch(_LEVELS)
    node = record_node(tx, enter_dual_level, ())
    # as for the setters of `modes`
    node.meta[IMPURE] = True
    # what may raise from here on stops the trace: its handler would have to find the level left
    tx.graph.has_changes = True
    (level,) = open_levels()
    tx.changes.launches.append(OpenLevel(tx, level))
    return Constant(level)


@ROWS.call(predispatch._exit_dual_level)
def leave(tx: TraceContext, *, level: Tracker) -> Tracker:
    """Leave the level."""
    number = _open_number(level)
    entered = [one for one in tx.changes.launches if isinstance(one, OpenLevel) and one.ended is None]
    if len(entered) != 1 or entered[0].graph is not tx.graph.graph:
        raise GraphBreak(DUAL_LEVEL, "a level that another function of the graph has entered")
    tx.changes.ambient.touch(_LEVELS)
    record_node(tx, exit_dual_level, (Constant(number),)).meta[IMPURE] = True
    entered[0].ended = tx.graph.step
    return Constant(None)


@ROWS.call(predispatch._make_dual)
def make_dual(tx: TraceContext, tensor: Tracker, tangent: Tracker, *, level: Tracker) -> Tracker:
    """The tensor with a tangent."""
    number = Constant(_open_number(level))
    return record(tx, torch._VF._make_dual, (tensor, tangent), {"level": number})


@ROWS.call(predispatch._unpack_dual)
def unpack_dual(tx: TraceContext, tensor: Tracker, *, level: Tracker) -> Tracker:
    """A view of the tensor without the tangent, and the tangent or None."""
    number = Constant(_open_number(level))
    return record(tx, torch._VF._unpack_dual, (tensor,), {"level": number})


@ROWS.call(forward_ad._maybe_load_decompositions)
def load_decompositions(tx: TraceContext) -> Tracker:
    """Load torch's rules now: the graph will need them."""
    with tx.graph.pause_recording():
        load: Callable[[], None] = forward_ad._maybe_load_decompositions  # torch's has no types
        load()
    return Constant(None)


def _open_number(level: Tracker) -> int:
    """The number of a level that the trace is in. Breaks the graph for any other."""
    level = level.realize()
    number = level.value if isinstance(level, Constant) else None
    if type(number) is not int or number not in open_levels():
        raise GraphBreak(DUAL_LEVEL, "a level that the graph has not entered")
    return number
