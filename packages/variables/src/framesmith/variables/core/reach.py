"""Reachability: which trackers a value leads to."""

import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import final

from framesmith.variables.core.base import Tracker
from framesmith.variables.core.lazy import Lazy


def reachable(roots: Iterable[Tracker]) -> dict[int, Tracker]:
    """All trackers that can be reached from these, themselves
    included, by `id`. What the trace has not read is left unread."""
    todo, seen = list(roots), dict[int, Tracker]()
    while todo:
        tracker = _realized(todo.pop())
        if id(tracker) not in seen:
            seen[id(tracker)] = tracker
            todo += tracker.known_children()
    return seen


def _realized(tracker: Tracker) -> Tracker:
    return tracker.realize() if isinstance(tracker, Lazy) and tracker.is_realized else tracker


@final
class IncrementalReachability:
    """Walks over what can be reached, each of which enters only what is new or has changed since the one before.

    A walk over everything, in front of each of many operations, takes time that grows with the square of the program.
    `changed` is a list to which the mutation log appends what changes (`MutationLog.watch`). One for each trace: a tracker says itself
    whether it was reached.
    """

    def __init__(self, changed: list[Tracker]) -> None:
        self._changed = changed
        self._changed_before: Sequence[Tracker] = ()
        # values whose changes nobody is told of, such as iterators
        self._untold: dict[int, weakref.ref[Tracker]] = {}

    def walk(self, roots: Iterable[Tracker]) -> list[Tracker]:
        """What can be reached from these and was not before or has changed, and each value whose changes are not told."""
        # A change is told before it is made, and a walk may come in between: the changes since the last but one.
        changed = list({id(one): one for one in self._changed}.values())
        again = [one for one in (*self._changed_before, *changed) if one.was_reached]
        for one in again:
            one.was_reached = False
        self._changed_before = changed
        self._changed.clear()
        todo, untold, found = [*roots, *again, *self.untold()], set[int](), list[Tracker]()
        while todo:
            tracker = _realized(todo.pop())
            if tracker.was_reached or id(tracker) in untold:
                continue
            if tracker.tells_changes:
                tracker.was_reached = True
            else:
                untold.add(id(tracker))
                self._untold[id(tracker)] = weakref.ref(tracker)
            found.append(tracker)
            todo += tracker.known_children()
        return found

    def untold(self) -> Iterator[Tracker]:
        """The values that were reached whose changes are not told, if they are still there."""
        for key, reference in list(self._untold.items()):
            tracker = reference()
            if tracker is None:
                del self._untold[key]
            else:
                yield tracker
