"""The content of a modelled dict, shared by its tracker, its views and its iterators."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import final

from framesmith.guards.class_lookup import defines
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.raising import raise_observed


@final
@dataclass(slots=True)
class DictEntry:
    """One item. `original`: the existing dict has it at this position; `changed`: the trace gave it a new value;
    `rank`: when it was stored, counted apart for original and for new items."""

    key: Tracker
    value: Tracker
    original: bool = False
    changed: bool = False
    rank: int = 0


@final
@dataclass(slots=True)
class DictEntries:
    """The known items of a dict by hash key, in order. `structure` counts keys that came or went, `moves` counts
    `move_to_end`: iterators compare both."""

    by_name: dict[Hashable, DictEntry] = field(default_factory=dict)
    structure: int = 0
    moves: int = 0

    def add(self, name: Hashable, key: Tracker, value: Tracker) -> None:
        """Put a new item at the end."""
        self.structure += 1
        self.by_name[name] = DictEntry(key, value, rank=self.structure)

    def in_stored_order(self) -> list[DictEntry]:
        """The items in the order in which they were stored. `move_to_end`
        does not change it, and a plain dict has no other."""
        if not self.moves:
            return list(self.by_name.values())
        return sorted(self.by_name.values(), key=lambda entry: (not entry.original, entry.rank))

    def items_to_move(self) -> list[DictEntry]:
        """The items that replay has to move to the end, in turn, once all are
        stored: all after the longest prefix whose order is right already."""
        stored, order = iter(self.in_stored_order()), list(self.by_name.values())
        for index, entry in enumerate(order):
            if not any(one is entry for one in stored):
                return order[index:]
        return []


def update_pair(tx: TraceContext, index: int, pair: Tracker) -> tuple[Tracker, Tracker]:
    """The key and the value of one element of an update sequence; TypeError or ValueError when it is not a pair."""
    if not defines(pair.python_type, "__iter__") and not defines(pair.python_type, "__getitem__"):
        raise_observed(
            tx, TypeError, f"cannot convert dictionary update sequence element #{index} to a sequence"
        )
    members = unpack(tx, pair)
    if len(members) == 2:
        return members[0], members[1]
    problem = f"dictionary update sequence element #{index} has length {len(members)}; 2 is required"
    return raise_observed(tx, ValueError, problem)
