"""Telling existing objects apart: two that were different while tracing may be one object in a later call."""

from weakref import WeakKeyDictionary

from framesmith.guards import Guard, Reason
from framesmith.guards.kinds import DistinctObjects
from framesmith.variables.core.base import MutationLog, TraceContext, Tracker

_hashed: WeakKeyDictionary[MutationLog, dict[int, Tracker]] = WeakKeyDictionary()


def tell_apart(tx: TraceContext, one: Tracker, other: Tracker) -> None:
    """Guard that two trackers stand for two objects, where their types leave that open."""
    if one is other or one.source is None or other.source is None:
        return
    if one.python_type is other.python_type:
        pair = DistinctObjects((one.source, other.source))
        tx.guards.add(Guard.relation(pair, Reason("the trace told them apart", None)))


def note_hashed(tx: TraceContext, tracker: Tracker) -> None:
    """An object becomes a key by its identity: it is told apart from those that were keys before."""
    if tracker.source is None:
        return
    earlier = _hashed.setdefault(tx.mutations, {})
    if id(tracker) not in earlier:
        for other in earlier.values():
            tell_apart(tx, tracker, other)
        earlier[id(tracker)] = tracker
