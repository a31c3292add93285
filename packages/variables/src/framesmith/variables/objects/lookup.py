"""What a class stores under a name: static lookup along the resolution order, guarded. No user code runs.

Here too: what the trace itself stored on classes, since every lookup has to see it. How a stored thing is
bound to an instance lives in `descriptors`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol, final
from weakref import WeakKeyDictionary

from framesmith.guards import Guard, Reason, Source
from framesmith.guards.kinds import ClassAttribute, HasKey, Identical, TypeIs
from framesmith.guards.kinds.attributes import static_lookup
from framesmith.guards.sources import ClassDictItem, Pinned
from framesmith.guards.sources.steps import ClassDict, resolution_order, type_dict
from framesmith.variables.core.base import MutationLog, TraceContext, Tracker
from framesmith.variables.core.structure import guard_structure

MISSING: Final = ClassAttribute.missing
_IMMUTABLE_TYPE: Final = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
_HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE

# What the metaclass does with attributes of its own is not asked.
flags_of = type.__dict__["__flags__"].__get__
_qualified_name = type.__dict__["__qualname__"].__get__


class ChangedClass(Protocol):
    """A class with attributes that the trace stored (None: deleted)."""

    changes: dict[str, Tracker | None]


_changed_classes: WeakKeyDictionary[MutationLog, dict[type, ChangedClass]] = WeakKeyDictionary()


def note_changed_class(tx: TraceContext, kind: type, tracker: ChangedClass) -> None:
    """From now on lookups on `kind` look into the tracker's changes first."""
    _changed_classes.setdefault(tx.mutations, {})[kind] = tracker


def holder_of(tx: TraceContext, kind: type) -> ChangedClass | None:
    """The tracker that keeps the changes of a class, if the trace changed it."""
    return _changed_classes.get(tx.mutations, {}).get(kind)


@final
@dataclass(frozen=True, slots=True)
class Found:
    """The entry of a class dictionary. Invariant: `stored` is given exactly when the trace stored it."""

    owner: type
    name: str
    value: object
    stored: Tracker | None = None

    @property
    def kind(self) -> type:
        """The type of the entry."""
        return type(self.value) if self.stored is None else self.stored.python_type

    @property
    def source(self) -> Source:
        """Where the entry is read from."""
        return ClassDictItem(class_source(self.owner), self.name)

    def guard_kind(self, tx: TraceContext) -> None:
        """For a plain entry that something else hides: guard that it is no descriptor now."""
        if self.stored is None and peek(self.kind, "__get__") is MISSING and not is_immutable(self.owner):
            tx.guard(self.source, TypeIs(self.kind))

    def tracker(self, tx: TraceContext) -> Tracker:
        """The entry itself, not bound."""
        return tx.wrap(self.value, self.source) if self.stored is None else self.stored.realize()


def class_source(kind: type) -> Source:
    """A class as a constant of the entry."""
    return Pinned(kind, _qualified_name(kind))


def is_heap_type(kind: type) -> bool:
    """Whether the class was made by a class statement (or the C API's equivalent)."""
    return bool(flags_of(kind) & _HEAP_TYPE)


def is_immutable(kind: type) -> bool:
    """Whether the attributes of the class cannot be set from Python."""
    return bool(flags_of(kind) & _IMMUTABLE_TYPE)


#: `peek(kind, name)`: what static lookup finds now, not guarded; MISSING when nothing.
peek: Final = static_lookup


def overridden(kind: type, base: type, name: str) -> bool:
    """Whether lookup on `kind` finds another thing than lookup on `base`, not guarded."""
    return peek(kind, name) is not peek(base, name)


def find(tx: TraceContext, kind: type, name: str, after: type | None = None) -> Found | None:
    """Look `name` up along the resolution order of `kind` (after the class `after`, as `super` does), guarded."""
    order: tuple[type, ...] = resolution_order(kind)
    if after is not None:
        order = order[order.index(after) + 1 :]
    changed = _changed_classes.get(tx.mutations, {})
    if tx.facts is not None and not changed:
        _note_lookup(tx, kind, order, name)
    for index, owner in enumerate(order):
        holder = changed.get(owner)
        if holder is not None and name in holder.changes:
            stored = holder.changes[name]
            if stored is None:
                continue
            _guard_absent(tx, (cls for cls in order[:index] if cls not in changed), name)
            return Found(owner, name, MISSING, stored)
        attributes = type_dict(owner)
        if name in attributes:
            found = Found(owner, name, attributes[name])
            _guard_found(tx, order[: index + 1], found, whole=after is None and not changed)
            return found
    if after is None and not changed:
        _guard_lookup(tx, order, name, MISSING)
    else:
        _guard_absent(tx, order, name)
    return None


def _note_lookup(tx: TraceContext, kind: type, order: tuple[type, ...], name: str) -> None:
    owner = next((cls for cls in order if name in type_dict(cls)), None)
    visited = order if owner is None else order[: order.index(owner) + 1]
    tx.note("class attribute", class_source(kind), (visited, owner, name))


def _guard_found(tx: TraceContext, visited: tuple[type, ...], found: Found, *, whole: bool) -> None:
    """Guard that the lookup ends where it did. A plain value is guarded by whoever looks at it; that it is one, here."""
    if peek(found.kind, "__get__") is MISSING:
        _guard_absent(tx, visited[:-1], found.name)
        if not is_immutable(found.owner):
            tx.guards.add(Guard(found.source, TypeIs(found.kind), _reason(found.name)))
            guard_structure(tx, found.kind)
        return
    guard_structure(tx, found.kind)
    if whole:
        _guard_lookup(tx, visited, found.name, found.value)
    else:
        _guard_absent(tx, visited[:-1], found.name)
        if not is_immutable(found.owner):
            tx.guards.add(Guard(found.source, Identical(found.value), _reason(found.name)))


def _guard_lookup(tx: TraceContext, visited: tuple[type, ...], name: str, value: object) -> None:
    if not all(is_immutable(cls) for cls in visited):
        tx.guards.add(Guard(class_source(visited[0]), ClassAttribute(name, value), _reason(name)))


def _guard_absent(tx: TraceContext, classes: Iterable[type], name: str) -> None:
    for cls in classes:
        if not is_immutable(cls):
            tx.guards.add(Guard(ClassDict(class_source(cls)), HasKey(name, False), _reason(name)))


def _reason(name: str) -> Reason:
    return Reason(f"the trace looked {name!r} up on the class", None)
