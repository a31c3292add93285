"""`deque`: the constructor and the methods, as rows. The tracker is in `deques`."""

from collections import deque
from typing import Final

from framesmith.variables.builtin_types.deques import (
    DequeIterator,
    DequeTracker,
    compare_each,
    is_restructured,
)
from framesmith.variables.builtin_types.iterators import take_items, unpack
from framesmith.variables.builtin_types.sequences import bounds, user_errors
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import fill_absence_message, find_absence_message
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.operations.index import index_of, known_equal

ROWS: Final = Rows()
_INDEX_FAILS: Final = find_absence_message(deque[object]().index)
_REMOVE_FAILS: Final = find_absence_message(deque[object]().remove)

NONE: Final = Constant(None)
ONE: Final = Constant(1)


@ROWS.call(deque)
def call_deque(tx: TraceContext, iterable: Tracker | None = None, maxlen: Tracker | None = None) -> Tracker:
    """`deque(iterable, maxlen)`."""
    limit = None
    if maxlen is not None and not (isinstance(maxlen, Constant) and maxlen.value is None):
        limit = index_of(tx, maxlen, "an integer is required")
        if limit < 0:
            raise_observed(tx, ValueError, "maxlen must be non-negative")
    items = [] if iterable is None else unpack(tx, iterable)
    with user_errors(tx):
        return DequeTracker(items, limit)


@ROWS.call(deque.__dict__["maxlen"])
def deque_maxlen(tx: TraceContext, self: DequeTracker, /) -> Tracker:
    """`self.maxlen`."""
    return Constant(self.maxlen)


@ROWS.call(deque.append)
def deque_append(tx: TraceContext, self: DequeTracker, item: Tracker, /) -> Tracker:
    """`self.append(item)`."""
    self.append(tx, item)
    return NONE


@ROWS.call(deque.appendleft)
def deque_appendleft(tx: TraceContext, self: DequeTracker, item: Tracker, /) -> Tracker:
    """`self.appendleft(item)`."""
    self.change(tx).appendleft(item)
    return NONE


@ROWS.call(deque.extend)
def deque_extend(tx: TraceContext, self: DequeTracker, iterable: Tracker, /) -> Tracker:
    """`self.extend(iterable)`."""
    self.extend(tx, iterable)
    return NONE


@ROWS.call(deque.extendleft)
def deque_extendleft(tx: TraceContext, self: DequeTracker, iterable: Tracker, /) -> Tracker:
    """`self.extendleft(iterable)`."""
    # `d.extendleft(d)` gives the items that there were: CPython copies the deque first
    for item in take_items(tx, DequeTracker(self.items) if iterable is self else iterable):
        # one without room takes the items and changes nothing, unlike `appendleft`
        if self.maxlen != 0:
            self.change(tx).appendleft(item)
    return NONE


@ROWS.call(deque.pop)
def deque_pop(tx: TraceContext, self: DequeTracker, /) -> Tracker:
    """`self.pop()`."""
    with user_errors(tx):
        return self.change(tx).pop()


@ROWS.call(deque.popleft)
def deque_popleft(tx: TraceContext, self: DequeTracker, /) -> Tracker:
    """`self.popleft()`."""
    with user_errors(tx):
        return self.change(tx).popleft()


@ROWS.call(deque.clear)
def deque_clear(tx: TraceContext, self: DequeTracker, /) -> Tracker:
    """`self.clear()`."""
    self.change(tx).clear()
    return NONE


@ROWS.call(deque.copy, deque.__copy__)
def deque_copy(tx: TraceContext, self: DequeTracker, /) -> Tracker:
    """`self.copy()`."""
    return DequeTracker(self.items, self.maxlen)


@ROWS.call(deque.reverse)
def deque_reverse(tx: TraceContext, self: DequeTracker, /) -> Tracker:
    """`self.reverse()`."""
    self.change(tx).reverse()
    return NONE


@ROWS.call(deque.rotate)
def deque_rotate(tx: TraceContext, self: DequeTracker, steps: Tracker = ONE, /) -> Tracker:
    """`self.rotate(steps)`."""
    count = index_of(tx, steps)
    with user_errors(tx):
        self.change(tx).rotate(count)
    return NONE


@ROWS.call(deque.count)
def deque_count(tx: TraceContext, self: DequeTracker, value: Tracker, /) -> Tracker:
    """`self.count(value)`."""
    return Constant(sum(same for _, same in compare_each(tx, self, value)))


@ROWS.call(deque.insert)
def deque_insert(tx: TraceContext, self: DequeTracker, index: Tracker, item: Tracker, /) -> Tracker:
    """`self.insert(index, item)`."""
    place = index_of(tx, index)
    with user_errors(tx):
        self.change(tx).insert(place, item)
    return NONE


@ROWS.call(deque.remove)
def deque_remove(tx: TraceContext, self: DequeTracker, value: Tracker, /) -> Tracker:
    """`self.remove(value)`."""
    watch = iter(self.items)
    # over a copy, as comparing an item may run code of the user that changes the deque
    for place, item in enumerate(tuple(self.items)):
        same = known_equal(tx, item, value)
        if is_restructured(watch):
            # CPython raises IndexError here and RuntimeError in `index` and `count`
            raise_observed(tx, IndexError, "deque mutated during iteration")
        if same:
            del self.change(tx)[place]
            return NONE
    return raise_observed(tx, ValueError, fill_absence_message(value, _REMOVE_FAILS))


@ROWS.call(deque.index)
def deque_index(
    tx: TraceContext,
    self: DequeTracker,
    value: Tracker,
    start: Tracker | None = None,
    stop: Tracker | None = None,
    /,
) -> Tracker:
    """`self.index(value, start, stop)`."""
    for place, same in compare_each(tx, self, value, *bounds(tx, len(self.items), start, stop)):
        if same:
            return Constant(place)
    return raise_observed(tx, ValueError, fill_absence_message(value, _INDEX_FAILS))


@ROWS.call(deque.__reversed__)
def deque_reversed(tx: TraceContext, self: DequeTracker, /) -> Tracker:
    """`reversed(self)`."""
    return DequeIterator(self, backwards=True)
