"""How items are represented in the real set that the trace keeps for each modelled set."""

from collections.abc import Hashable
from dataclasses import dataclass
from types import ModuleType
from typing import Final, final

from framesmith.variables.core.base import Tracker

_FIXED: Final = (type, ModuleType)


@final
@dataclass(frozen=True, slots=True)
class ItemKey:
    """Represents an item that is no constant; equal by its hash key. It has the hash of the real item where the entry
    fixes which object that is, so that the iteration order is the real one."""

    name: Hashable

    @property
    def is_exact(self) -> bool:
        """Whether its hash is that of the real item."""
        return _fixed(self.name) is not None

    def __hash__(self) -> int:
        fixed = _fixed(self.name)
        return hash(self.name) if fixed is None else object.__hash__(fixed)


def _fixed(name: Hashable) -> object:
    """The class or module that a hash key holds, which is the
    same object in each call that the entry serves; else None."""
    match name:
        case ("object", value) if isinstance(value, _FIXED):
            return value
        case _:
            return None


def make_item_key(name: Hashable) -> Hashable:
    """What represents an item in the real set: the value itself for a constant, so that hashes and order are real."""
    match name:
        case ("constant", value):
            return value
        case _:
            return _make_key(name, {})


def _make_key(name: Hashable, known: dict[int, Hashable]) -> Hashable:
    """`make_item_key`, with the keys of the parts made already: a nest of n frozensets may hold 2**n."""
    match name:
        case ("constant", value):
            return value
        case ("tuple" | "frozenset" as kind, tuple(members) | frozenset(members)):
            if id(name) not in known:
                keys = [_make_key(member, known) for member in members]
                known[id(name)] = tuple(keys) if kind == "tuple" else frozenset(keys)
            return known[id(name)]
        case _:
            return ItemKey(name)


def is_exact(item: Hashable) -> bool:
    """Whether an item of the real set has the hash of the item that it represents."""
    return _is_exact(item, set()) if isinstance(item, tuple | frozenset) else _is_exact_scalar(item)


def _is_exact(item: Hashable, known: set[int]) -> bool:
    """`is_exact`, without the parts that were found to be exact."""
    if not isinstance(item, tuple | frozenset):
        return _is_exact_scalar(item)
    if id(item) in known:
        return True
    known.add(id(item))
    return all(_is_exact(part, known) for part in item)


def _is_exact_scalar(item: Hashable) -> bool:
    if isinstance(item, ItemKey):
        return item.is_exact
    return not isinstance(item, float | complex) or item == item  # each NaN is hashed by its address


def is_new_object(item: Hashable) -> bool:
    """Whether an item is an object created in the trace: it has no address yet, so CPython could give it any order."""
    match item:
        case ItemKey(("object", Tracker() as tracker)):
            return tracker.source is None
        case _:
            return False
