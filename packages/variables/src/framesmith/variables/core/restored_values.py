"""Whether a change left things as they were: a variable that was set and set back. Where that is not known, it did not.

How a change is replayed stands with each tracker (`replay`).
"""

from framesmith.guards import Source
from framesmith.guards.comparison import same_constant
from framesmith.variables.core.base import Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.lazy import Lazy


def is_same_value(tracker: Tracker, original: object, source: Source | None = None) -> bool:
    """Whether a tracker represents what was there before: the object at `source`, or an equal constant."""
    if source is not None and tracker.source == source:
        return True
    if isinstance(tracker, Lazy):
        # reading it would add guards, for a value that was only passed on
        if not tracker.is_realized:
            return tracker.peek is original
        tracker = tracker.realize()
    return isinstance(tracker, Constant) and same_constant(tracker.value, original)
