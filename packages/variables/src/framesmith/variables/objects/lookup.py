"""Static look-up of a name on a class, along the resolution order, guarded. No user code runs.

Every look-up sees what the trace itself stored on classes. How an item is bound to an instance is in `descriptors`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import final

from framesmith.guards import Reason, Source
from framesmith.guards.class_lookup import (
    MISSING,
    is_descriptor,
    is_immutable,
    qualified_name,
    resolution_order,
    type_dict,
)
from framesmith.guards.kinds import ClassAttribute, HasKey, Identical, TypeIs
from framesmith.guards.sources import ClassDictItem, Pinned
from framesmith.guards.sources.steps import ClassDict
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.structure import guard_structure


@final
@dataclass(frozen=True, slots=True)
class Found:
    """An item of a class dictionary. Invariant: `stored` is set exactly when the trace stored the item.

    `order` are the classes that were searched, of which `owner` is one.
    """

    owner: type
    name: str
    value: object
    stored: Tracker | None = None
    order: tuple[type, ...] = field(default=(), compare=False, repr=False)

    @property
    def cls(self) -> type:
        """The type of the item's value."""
        return type(self.value) if self.stored is None else self.stored.python_type

    @property
    def source(self) -> Source:
        """The source of the item: the class dictionary and the name."""
        return ClassDictItem(class_source(self.owner), self.name)

    def tracker(self, tx: TraceContext) -> Tracker:
        """The tracker of its value, not bound."""
        return tx.wrap(self.value, self.source) if self.stored is None else self.stored.realize()


def class_source(cls: type) -> Source:
    """The source of a class: a constant of the entry."""
    return Pinned(cls, qualified_name(cls))


def find(tx: TraceContext, cls: type, name: str, after: type | None = None) -> Found | None:
    """Look `name` up along the resolution order of `cls` (after the class
    `after`, as `super` does); None if no class has it. Guards the result."""
    # A class that the trace changed may give another answer; the fact log of tests wants each look-up.
    if after is not None or tx.changes.classes or tx.guards.facts is not None:
        return _find(tx, cls, name, after)
    # guards are never taken back, so what a first look-up found and guarded is true for the rest of the trace
    known = tx.lookups.get((id(cls), name))
    if known is None:
        known = tx.lookups[id(cls), name] = (cls, _find(tx, cls, name, None))
    found = known[1]
    assert found is None or isinstance(found, Found)
    return found


def _find(tx: TraceContext, cls: type, name: str, after: type | None) -> Found | None:
    order: tuple[type, ...] = resolution_order(cls)
    if after is not None:
        order = order[order.index(after) + 1 :]
    changed = tx.changes.classes
    if tx.guards.facts is not None and not changed:
        _note_lookup(tx, cls, order, name)
    for index, owner in enumerate(order):
        holder = changed.get(owner)
        if holder is not None and name in holder.changes:
            stored = holder.changes[name]
            # Deleted by the trace: the search goes on in the next class.
            if stored is None:
                continue
            # what the trace stored needs no guard; that the classes before it lack the name does
            _guard_absent(tx, (one for one in order[:index] if one not in changed), name)
            return Found(owner, name, MISSING, stored)
        attributes = type_dict(owner)
        if name in attributes:
            found = Found(owner, name, attributes[name], order=order)
            _guard_found(tx, order[: index + 1], found, whole=after is None and not changed)
            return found
    # One claim on the whole look-up is cheaper than one on each class,
    # where it starts at the class and sees no changes.
    if after is None and not changed:
        _guard_lookup(tx, order, name, MISSING)
    else:
        _guard_absent(tx, order, name)
    return None


def _note_lookup(tx: TraceContext, cls: type, order: tuple[type, ...], name: str) -> None:
    owner = next((one for one in order if name in type_dict(one)), None)
    visited = order if owner is None else order[: order.index(owner) + 1]
    tx.note("class attribute", class_source(cls), (visited, owner, name))


def _guard_found(tx: TraceContext, visited: tuple[type, ...], found: Found, *, whole: bool) -> None:
    """Guard that the look-up finds this item. For a plain value only that,
    and that it is no descriptor: its value is guarded where it is read."""
    if not is_descriptor(found.cls):
        _guard_absent(tx, visited[:-1], found.name)
        if not is_immutable(found.owner):
            tx.guards.require(found.source, TypeIs(found.cls), _reason(found.name))
            guard_structure(tx, found.cls)
        return
    guard_structure(tx, found.cls)
    if whole:
        _guard_lookup(tx, visited, found.name, found.value)
    else:
        _guard_absent(tx, visited[:-1], found.name)
        if not is_immutable(found.owner):
            tx.guards.require(found.source, Identical(found.value), _reason(found.name))


def _guard_lookup(tx: TraceContext, visited: tuple[type, ...], name: str, value: object) -> None:
    if not all(is_immutable(cls) for cls in visited):
        tx.guards.require(class_source(visited[0]), ClassAttribute(name, value), _reason(name))


def _guard_absent(tx: TraceContext, classes: Iterable[type], name: str) -> None:
    for cls in classes:
        if not is_immutable(cls):
            tx.guards.require(ClassDict(class_source(cls)), HasKey(name, False), _reason(name))


def _reason(name: str) -> Reason:
    return Reason(f"the trace looked {name!r} up on the class", None)
