"""Which tracker a fake tensor has. What is done with that is in `tensors`; here is how long it is remembered."""

from typing import Generic, TypeVar, final
from weakref import WeakValueDictionary

V = TypeVar("V")


@final
class FakeTrackers(Generic[V]):
    """The trackers of fake tensors by the `id` of the fake, one each, as long as it is referenced.

    Invariant: a tracker holds its fake, so an id is valid as long as its item exists.
    """

    def __init__(self) -> None:
        self._made: WeakValueDictionary[int, V] = WeakValueDictionary()
        # a weak reference takes ten times as long; the trace holds these anyway
        self._existing: dict[int, V] = {}

    def get(self, place: int) -> V | None:
        """The tracker of the fake with this `id`, if there is one."""
        tracker = self._existing.get(place)
        return self._made.get(place) if tracker is None else tracker

    def __setitem__(self, place: int, tracker: V) -> None:
        """Remember a tracker."""
        self._existing.pop(place, None)
        self._made[place] = tracker

    def keep(self, place: int, tracker: V) -> None:
        """Remember the tracker of an existing tensor, which lives as long as the trace."""
        self._existing[place] = tracker

    def release(self) -> None:
        """The trace has ended."""
        self._existing.clear()
