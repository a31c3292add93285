"""Calls around which eager has frames that the trace has not (ADR 0016)."""

from dataclasses import replace

from framesmith.variables.core.base import PendingCall, PendingFrame, SkippedFrame, Tracker


def skip_frames(call: Tracker | PendingCall, *frames: SkippedFrame) -> Tracker | PendingCall:
    """The call, with these frames around it that are not traced, the outermost first."""
    return replace(call, skipped=(*frames, *call.skipped)) if isinstance(call, PendingFrame) else call
