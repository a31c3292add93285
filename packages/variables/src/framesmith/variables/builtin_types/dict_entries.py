"""The content of a modelled dict, shared by its tracker, its views and its iterators."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import final

from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.builtin_methods import defines
from framesmith.variables.core.raising import raise_observed


@final
@dataclass(slots=True)
class DictEntry:
    """One item. `original`: it stands where the existing dict has it; `changed`: its value is another one; `rank`:
    when it was stored, among the original or among the new ones."""

    key: Tracker
    value: Tracker
    original: bool = False
    changed: bool = False
    rank: int = 0


@final
@dataclass(slots=True)
class DictEntries:
    """What is known of a dict: by hash key, in order. `structure` grows when keys come or go, `moves` when they
    change places."""

    by_name: dict[Hashable, DictEntry] = field(default_factory=dict)
    structure: int = 0
    moves: int = 0

    def add(self, name: Hashable, key: Tracker, value: Tracker) -> None:
        """Put a new item at the end."""
        self.structure += 1
        self.by_name[name] = DictEntry(key, value, rank=self.structure)

    def as_stored(self) -> list[DictEntry]:
        """In the order in which they were stored, which `move_to_end` leaves alone: a plain dict has no other."""
        if not self.moves:
            return list(self.by_name.values())
        return sorted(self.by_name.values(), key=lambda entry: (not entry.original, entry.rank))

    def moved(self) -> list[DictEntry]:
        """What has to be moved to the end, one after the other, after all was stored: what follows the longest start
        that has its order already."""
        stored, order = iter(self.as_stored()), list(self.by_name.values())
        for index, entry in enumerate(order):
            if not any(one is entry for one in stored):
                return order[index:]
        return []


def update_pair(tx: TraceContext, index: int, pair: Tracker) -> tuple[Tracker, Tracker]:
    """One element of an update sequence."""
    if not defines(pair.python_type, "__iter__") and not defines(pair.python_type, "__getitem__"):
        raise_observed(TypeError, f"cannot convert dictionary update sequence element #{index} to a sequence")
    members = unpack(tx, pair)
    if len(members) == 2:
        return members[0], members[1]
    problem = f"dictionary update sequence element #{index} has length {len(members)}; 2 is required"
    return raise_observed(ValueError, problem)
