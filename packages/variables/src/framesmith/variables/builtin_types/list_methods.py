"""Rows for the methods of `list`.

The tracker is in `builtin_types.lists`.
"""

from typing import Final

from framesmith.variables.builtin_types.iterators import LIST_REVERSED, ReversedIterator
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.sequences import count, find, index_in, sort_items, user_errors
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import find_absence_message
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.operations.index import index_of
from framesmith.variables.operations.truth import known_truth

ROWS: Final = Rows()
_NOT_IN_LIST: Final = find_absence_message(list[object]().index)

NONE = Constant(None)


@ROWS.call(list.append)
def list_append(tx: TraceContext, self: ListTracker, item: Tracker, /) -> Tracker:
    """`self.append(item)`."""
    self.append(tx, item)
    return NONE


@ROWS.call(list.extend)
def list_extend(tx: TraceContext, self: ListTracker, iterable: Tracker, /) -> Tracker:
    """`self.extend(iterable)`."""
    self.extend(tx, iterable)
    return NONE


@ROWS.call(list.insert)
def list_insert(tx: TraceContext, self: ListTracker, index: Tracker, item: Tracker, /) -> Tracker:
    """`self.insert(index, item)`."""
    place = index_of(tx, index)
    with user_errors(tx):
        self.change(tx).insert(place, item)
    return NONE


@ROWS.call(list.pop)
def list_pop(tx: TraceContext, self: ListTracker, index: Tracker | None = None, /) -> Tracker:
    """`self.pop([index])`."""
    place = -1 if index is None else index_of(tx, index)
    with user_errors(tx):
        return self.change(tx).pop(place)


@ROWS.call(list.remove)
def list_remove(tx: TraceContext, self: ListTracker, value: Tracker, /) -> Tracker:
    """`self.remove(value)`."""
    place = find(tx, self.items, value)
    if place is None:
        raise_observed(tx, ValueError, "list.remove(x): x not in list")
    # a slice, since the comparison may have shrunk the list: CPython then removes nothing and raises nothing
    del self.change(tx)[place : place + 1]
    return NONE


@ROWS.call(list.clear)
def list_clear(tx: TraceContext, self: ListTracker, /) -> Tracker:
    """`self.clear()`."""
    self.change(tx).clear()
    return NONE


@ROWS.call(list.copy)
def list_copy(tx: TraceContext, self: ListTracker, /) -> Tracker:
    """`self.copy()`."""
    # a plain list also for an instance of a subclass
    return ListTracker(self.items)


@ROWS.call(list.reverse)
def list_reverse(tx: TraceContext, self: ListTracker, /) -> Tracker:
    """`self.reverse()`."""
    self.change(tx).reverse()
    return NONE


@ROWS.call(list.count)
def list_count(tx: TraceContext, self: ListTracker, value: Tracker, /) -> Tracker:
    """`self.count(value)`."""
    return Constant(count(tx, self.items, value))


@ROWS.call(list.index)
def list_index(
    tx: TraceContext,
    self: ListTracker,
    value: Tracker,
    start: Tracker | None = None,
    stop: Tracker | None = None,
    /,
) -> Tracker:
    """`self.index(value)`."""
    return index_in(tx, self.items, value, start, stop, _NOT_IN_LIST)


@ROWS.call(list.sort)
def list_sort(
    tx: TraceContext, self: ListTracker, /, *, key: Tracker | None = None, reverse: Tracker | None = None
) -> Tracker:
    """`self.sort(key=, reverse=)`: stable; the list is empty while it sorts, as in CPython."""
    descending = reverse is not None and known_truth(tx, reverse)
    function = None if key is None or (isinstance(key, Constant) and key.value is None) else key
    # the list itself, which a real sort empties meanwhile
    items = self.change(tx)
    sort_items(tx, items, None if function is None else lambda i: function.call(tx, [i], {}), descending)
    return NONE


@ROWS.call(list.__reversed__)
def list_reversed(tx: TraceContext, self: ListTracker, /) -> Tracker:
    """`reversed(self)`."""
    return ReversedIterator(self, self.items, LIST_REVERSED)
