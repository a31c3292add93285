"""`bool(x)` as conditional jumps, `not` and containers use it."""

from framesmith.variables.core.base import TraceContext, Tracker


def truth_of(tx: TraceContext, value: Tracker) -> bool | Tracker:
    """`bool(value)`: a bool if known while tracing, else the tracker of a tensor or symbolic truth to branch on."""
    return value.realize().truth(tx)
