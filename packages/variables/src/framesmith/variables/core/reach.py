"""Reachability: which trackers a value leads to."""

from collections.abc import Iterable

from framesmith.variables.core.base import Tracker
from framesmith.variables.core.lazy import Lazy


def reachable(roots: Iterable[Tracker]) -> dict[int, Tracker]:
    """All trackers that can be reached from these, themselves
    included, by `id`. What the trace has not read is left unread."""
    todo, seen = list(roots), dict[int, Tracker]()
    while todo:
        tracker = todo.pop()
        if isinstance(tracker, Lazy) and tracker.is_realized:
            tracker = tracker.realize()
        if id(tracker) not in seen:
            seen[id(tracker)] = tracker
            todo += tracker.known_children()
    return seen
