"""The content of a modelled dict, shared by its tracker, its views and its iterators."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final, NoReturn, final

from framesmith.guards import Source
from framesmith.guards.class_lookup import defines
from framesmith.guards.sources import Item
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import find_error, find_error_text
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.raising import new_exception, raise_observed
from framesmith.variables.core.restored_values import is_same_value
from framesmith.variables.operations.index import known_equal

_NOT_A_PAIR: Final = find_error(dict, [0])  # since Python 3.14 a note tells the index
_ORDERED_LENGTHS: Final = {length: find_error_text(OrderedDict, [(0,) * length]) for length in (0, 1, 3)}


@final
@dataclass(slots=True)
class DictItem:
    """One item. `original`: the existing dict has it at this position; `changed`: the trace gave it a new value;
    `rank`: when it was stored, counted apart for original and for new items."""

    key: Tracker
    value: Tracker
    original: bool = False
    changed: bool = False
    rank: int = 0

    def is_restored(self, existing: dict[object, object], source: Source) -> bool:
        """Whether the existing dict has this very item; False where that is not known."""
        if not self.original or not self.key.is_python_constant():
            # another key cannot be looked up in the real dict without running its `__hash__`
            return self.original and not self.changed
        key = self.key.as_python_constant()
        return not self.changed or is_same_value(
            self.value, dict.__getitem__(existing, key), Item(source, key)
        )


@final
@dataclass(slots=True)
class DictItems:
    """The known items of a dict by hash key, in order. `structure` counts keys that came or went, `moves` counts
    `move_to_end`: iterators compare both."""

    by_name: dict[Hashable, DictItem] = field(default_factory=dict)
    structure: int = 0
    moves: int = 0

    def add(self, name: Hashable, key: Tracker, value: Tracker) -> None:
        """Put a new item at the end."""
        self.structure += 1
        self.by_name[name] = DictItem(key, value, rank=self.structure)

    def in_stored_order(self) -> list[DictItem]:
        """The items in the order in which they were stored. `move_to_end`
        does not change it, and a plain dict has no other."""
        if not self.moves:
            # the order of storing is that of the items until one is moved
            return list(self.by_name.values())
        # original items keep their place in the real dict, new ones come behind them in the order of storing
        return sorted(self.by_name.values(), key=lambda item: (not item.original, item.rank))

    def items_to_move(self) -> list[DictItem]:
        """The items that replay has to move to the end, in turn, once all are
        stored: all after the longest prefix whose order is right already."""
        stored, order = iter(self.in_stored_order()), list(self.by_name.values())
        for index, item in enumerate(order):
            if not any(one is item for one in stored):
                return order[index:]
        return []


def update_pair(tx: TraceContext, cls: type, index: int, pair: Tracker) -> tuple[Tracker, Tracker]:
    """The key and the value of one element of an update sequence; TypeError or ValueError when it is not a pair."""
    ordered = issubclass(cls, OrderedDict)
    # `OrderedDict.update` (`mutablemapping_update`) words its errors in its own way
    if not ordered and not any(defines(pair.python_type, name) for name in ("__iter__", "__getitem__")):
        _raise_not_a_pair(tx, index)
    members = unpack(tx, pair)
    if len(members) == 2:
        return members[0], members[1]
    if ordered:
        raise_observed(tx, ValueError, _ORDERED_LENGTHS[min(len(members), 3)])
    problem = f"dictionary update sequence element #{index} has length {len(members)}; 2 is required"
    return raise_observed(tx, ValueError, problem)


def _raise_not_a_pair(tx: TraceContext, index: int) -> NoReturn:
    error = new_exception(tx, TypeError, str(_NOT_A_PAIR).replace("#0", f"#{index}"))
    notes = [note.replace("#0", f"#{index}") for note in getattr(_NOT_A_PAIR, "__notes__", ())]
    if notes:
        error.set_attribute(tx, "__notes__", ListTracker([Constant(note) for note in notes]))
    raise ObservedException(error)


def compare_values(
    tx: TraceContext, mine: dict[Hashable, DictItem], theirs: dict[Hashable, DictItem]
) -> bool | None:
    """Whether two dicts of as many items have equal values under equal keys. None where code of the user, which
    compares the values, has changed one of the dicts."""
    # both lists of keys, to notice changes by an `__eq__` of a value
    names, same = (list(mine), list(theirs)), True
    for name in names[0]:
        item, twin = mine.get(name), theirs.get(name)
        same = item is None or (twin is not None and known_equal(tx, item.value, twin.value))
        if not same or len(mine) != len(names[0]):
            break
    return same if names == (list(mine), list(theirs)) else None
