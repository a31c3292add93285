"""Asynchronous collectives that the graph began and cannot end: they begin natively.

work = dist.all_reduce(x, async_op=True); return work     stops before the collective
"""

from framesmith.frontend.tracing.replanning import PlannedStop, Restart
from framesmith.frontend.tracing.trace_end import BreakBefore
from framesmith.variables.core import TraceContext


def check_launches(tx: TraceContext) -> None:
    """Restart, to stop before the first launch that nothing has ended, or of which an object is needed after the graph.

    Those before it which end behind it would have no end in the next trace, so the stop is before them.
    """
    lasting = [one for one in tx.changes.launches if one.ended is None or one.escapes]
    if not lasting:
        return
    first = min(lasting, key=lambda one: one.step)
    for one in sorted(tx.changes.launches, key=lambda one: -one.step):
        if one.step < first.step and (one.ended is None or one.ended >= first.step):
            first = one
    raise Restart(PlannedStop(first.step, None, 0, BreakBefore(first.explain())))
