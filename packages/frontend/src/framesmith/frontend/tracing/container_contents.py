"""What an existing container that a trace changed still holds of what it held when the trace began.

Members that the trace has not read are included. What it put in or has read is reached through the trackers.
"""

import gc
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from types import GetSetDescriptorType
from typing import Final

from framesmith.guards.class_lookup import is_one_of, static_lookup
from framesmith.variables.builtin_types.deques import DequeTracker
from framesmith.variables.builtin_types.dicts import DictTracker
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.namespaces import NamespaceTracker
from framesmith.variables.builtin_types.sets import SetTracker
from framesmith.variables.core import Constant, Tracker
from framesmith.variables.objects.exceptions import ExceptionTracker
from framesmith.variables.objects.instances import InstanceTracker


def _of_sequence(tracker: ListTracker | DequeTracker) -> Iterable[object]:
    return (tracker.value or ()) if tracker.is_unopened else ()


def _of_dict(tracker: DictTracker) -> Iterable[object]:
    if tracker.value is None or tracker.is_complete or tracker.deferred_stores:
        return ()
    touched = [entry.key for entry in tracker.entries.values() if entry.original and entry.changed]
    keys = [key.value for key in (*tracker.dropped.values(), *touched) if isinstance(key, Constant)]
    return [
        held for key, value in dict.items(tracker.value) if not _is_any(key, keys) for held in (key, value)
    ]


def _of_set(tracker: SetTracker) -> Iterable[object]:
    adds_only = all(change.method == "add" for change in tracker.log)
    return () if tracker.is_complete or not adds_only else (tracker.value or ())


def _of_instance(tracker: InstanceTracker) -> Iterable[object]:
    reader = static_lookup(tracker.kind, "__dict__")
    if tracker.value is None or tracker.namespace is not None:
        return ()
    if not isinstance(reader, GetSetDescriptorType):
        return () if tracker.slots else gc.get_referents(tracker.value)
    changed = {*tracker.pending, *tracker.deleted}
    return [value for name, value in reader.__get__(tracker.value).items() if name not in changed]


def _of_namespace(tracker: NamespaceTracker) -> Iterable[object]:
    return [value for name, value in tracker.value.items() if name not in tracker.pending]


def _is_any(key: object, keys: list[object]) -> bool:
    return any(type(one) is type(key) and one == key for one in keys)


_REMAINS: Final[Mapping[type, Callable[..., Iterable[object]]]] = {
    ListTracker: _of_sequence,
    DequeTracker: _of_sequence,
    DictTracker: _of_dict,
    SetTracker: _of_set,
    InstanceTracker: _of_instance,
    ExceptionTracker: _of_instance,
    NamespaceTracker: _of_namespace,
}
_BUILTIN: Final = (list, tuple, dict, set, frozenset, deque)


def is_known_container(tracker: Tracker) -> bool:
    """Whether `remains_of` knows this kind of container."""
    return type(tracker) in _REMAINS


def remains_of(tracker: Tracker) -> Iterable[object]:
    """The real values that an existing container held, and from which the trace has not taken it."""
    return _REMAINS[type(tracker)](tracker)


def parts_of(value: object) -> list[object]:
    """What an existing value holds, and what builtin containers in there hold."""
    held = gc.get_referents(value)
    return held + [part for one in held if is_one_of(type(one), _BUILTIN) for part in gc.get_referents(one)]


def leads_to(value: object, wanted: object) -> bool:
    """Whether a value is the wanted one, or a builtin container that holds it."""
    if value is wanted:
        return True
    return is_one_of(type(value), _BUILTIN) and any(part is wanted for part in gc.get_referents(value))
