"""What stands for an item in the real set that a trace keeps of a set."""

from collections.abc import Hashable
from dataclasses import dataclass
from types import ModuleType
from typing import Final, final

from framesmith.variables.core.base import Tracker

_FIXED: Final = (type, ModuleType)


@final
@dataclass(frozen=True, slots=True)
class StandIn:
    """An item that is no constant: equal by its hash key. Its hash is that of the real item where the entry fixes which one
    it is, so that the order is real too."""

    name: Hashable

    @property
    def is_exact(self) -> bool:
        """Whether the hash is that of the real item."""
        return _fixed(self.name) is not None

    def __hash__(self) -> int:
        fixed = _fixed(self.name)
        return hash(self.name) if fixed is None else object.__hash__(fixed)


def _fixed(name: Hashable) -> object:
    """The class or module that a key names: such a one is the same in each call that an entry serves."""
    match name:
        case ("object", value) if isinstance(value, _FIXED):
            return value
        case _:
            return None


def stand_in(name: Hashable) -> Hashable:
    """What represents an item in the real set: the value of a constant, so that hashes and order are real."""
    match name:
        case ("constant", value):
            return value
        case ("tuple", tuple(members)):
            return tuple([stand_in(member) for member in members])
        case ("frozenset", frozenset(members)):
            return frozenset([stand_in(member) for member in members])
        case _:
            return StandIn(name)


def is_exact(item: Hashable) -> bool:
    """Whether an item of the real set hashes like the item that it stands for."""
    if isinstance(item, StandIn):
        return item.is_exact
    if isinstance(item, tuple | frozenset):
        return all(map(is_exact, item))
    return not isinstance(item, float | complex) or item == item  # each NaN is hashed by its address


def is_born_here(item: Hashable) -> bool:
    """Whether an item has no address yet, so that any order is one that the interpreter may choose."""
    match item:
        case StandIn(("object", Tracker() as tracker)):
            return tracker.source is None
        case _:
            return False
