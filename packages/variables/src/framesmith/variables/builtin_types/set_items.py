"""Item keys: what represents an item in the real set that the trace keeps for each modelled set.

An item key is made from the hash key of a tracker (`Tracker.hash_key`), and is the value itself for a constant.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Final, final

from framesmith.variables.core.base import Tracker

# objects that live as long as the entry, and whose hash is their address
_FIXED: Final = (type, ModuleType)


@final
@dataclass(frozen=True, slots=True)
class ItemKey:
    """The item key of an item that is no constant; equal by its hash key. It has the hash of the real item where the entry
    fixes which object that is, so that the iteration order is the real one."""

    hash_key: Hashable

    @property
    def is_exact(self) -> bool:
        """Whether its hash is that of the real item."""
        return _fixed(self.hash_key) is not None

    def __hash__(self) -> int:
        fixed = _fixed(self.hash_key)
        return hash(self.hash_key) if fixed is None else object.__hash__(fixed)


def _fixed(hash_key: Hashable) -> object:
    """The class or module that a hash key holds, which is the
    same object in each call that the entry serves; else None."""
    match hash_key:
        case ("object", value) if isinstance(value, _FIXED):
            return value
        case _:
            return None


def make_item_key(hash_key: Hashable) -> Hashable:
    """The item key for a hash key: the value itself for a constant, so that hashes and order are real."""
    match hash_key:
        case ("constant", value):
            return value
        case _:
            return _make_key(hash_key, {})


def _make_key(hash_key: Hashable, known: dict[int, Hashable]) -> Hashable:
    """`make_item_key`, with the keys of the parts made already: a nest of n frozensets may hold 2**n."""
    match hash_key:
        case ("constant", value):
            return value
        case ("tuple" | "frozenset" as kind, tuple(members) | frozenset(members)):
            # by identity: comparing nested keys would go through the same parts again
            if id(hash_key) not in known:
                keys = [_make_key(member, known) for member in members]
                known[id(hash_key)] = tuple(keys) if kind == "tuple" else frozenset(keys)
            return known[id(hash_key)]
        case _:
            return ItemKey(hash_key)


def is_exact(item: Hashable) -> bool:
    """Whether an item of the real set has the hash of the item that it represents."""
    return _is_exact(item, set()) if isinstance(item, tuple | frozenset) else _is_exact_scalar(item)


def _is_exact(item: Hashable, known: set[int]) -> bool:
    """`is_exact`, without the parts that were found to be exact."""
    if not isinstance(item, tuple | frozenset):
        return _is_exact_scalar(item)
    if id(item) in known:
        return True
    # before its parts are looked at: an exact part is not looked at twice, and one that is not ends the search
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


def in_order(value: object) -> object:
    """The members in iteration order, as a guard compares them."""
    assert isinstance(value, set | frozenset)
    return tuple(iterate_natively(value))


def iterate_natively(value: "set[object] | frozenset[object]") -> Iterator[object]:
    """The members, past an `__iter__` of a subclass."""
    return set.__iter__(value) if isinstance(value, set) else frozenset.__iter__(value)
