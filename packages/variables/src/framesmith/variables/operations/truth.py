"""`bool(x)` as conditional jumps, `not` and containers ask for it."""

from framesmith.variables.core.base import TraceContext, Tracker


def truth_of(tx: TraceContext, value: Tracker) -> bool | Tracker:
    """A bool when known while tracing, else a tracker (of a tensor or a symbolic truth) to branch on."""
    return value.realize().truth(tx)
