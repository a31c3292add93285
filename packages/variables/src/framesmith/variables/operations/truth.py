"""`bool(x)` as conditional jumps, `not`, containers and C code use it, and where it has to be known to go on."""

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import DATA_DEPENDENT_BRANCH, UNBACKED_GUARD
from framesmith.variables.core.base import TraceContext, Tracker


def truth_of(tx: TraceContext, value: Tracker) -> bool | Tracker:
    """`bool(value)`: a bool if known while tracing, else the tracker of a tensor or symbolic truth to branch on."""
    return value.realize().truth(tx)


def known_truth(tx: TraceContext, value: Tracker) -> bool:
    """`bool(value)`, which decides what the trace does next; breaks the graph if it is known at run time only."""
    return require_known(truth_of(tx, value))


def require_known(truth: bool | Tracker) -> bool:
    """The truth if it is known; a graph break if it is the run-time value of a tensor or number."""
    if isinstance(truth, bool):
        return truth
    if not issubclass(truth.python_type, torch.Tensor):
        raise GraphBreak(UNBACKED_GUARD, f"the condition is {truth.describe()}")
    raise GraphBreak(
        DATA_DEPENDENT_BRANCH, "the condition is a tensor, whose value is known only when the program runs"
    )
