"""Checkpoints, and calls that copied a list, whose function would see a later change in the backward pass: they run natively.

y = checkpoint(lambda x: x * scale, x); scale = 3.0     stops before the checkpoint
"""

from framesmith.frontend.tracing.replanning import PlannedStop, Restart
from framesmith.frontend.tracing.trace_end import BreakBefore
from framesmith.graph import GraphBreak
from framesmith.variables.core import TraceContext
from framesmith.variables.gradients.history import CHANGED_STATE


def check_outdated_reads(tx: TraceContext) -> None:
    """Restart, to stop before the first call whose function reads in a backward pass what the trace has changed behind the call."""
    steps = [one.step for one in tx.changes.native_reads if one.step is not None and one.is_outdated()]
    if steps:
        reason = GraphBreak(CHANGED_STATE, "a function that the backward pass calls again")
        raise Restart(PlannedStop(min(steps), None, 0, BreakBefore(reason)))
