"""What lists, tuples and deques share: comparison, search, positions, sorting, and loops in reconstruction.

Each tracker is in a file of its own: `lists`, `tuples`, `deques`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Never, final

from framesmith.guards.class_lookup import defines, overrides
from framesmith.variables.builtin_types.unhashable_keys import UnhashableValue
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import fill_absence_message, find_message
from framesmith.variables.core.folding import from_python
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.structure import guard_class_attribute
from framesmith.variables.core.type_names import type_name
from framesmith.variables.operations.compare import FUNCTIONS, compare
from framesmith.variables.operations.index import index_of, known_compare, known_equal

Key = int | slice

NO_SLICE_INDEX: Final = find_message("[][value:]")
NO_SEARCH_INDEX: Final = find_message("[].index(0, value)")
_MODIFIED: Final = "list modified during sort"


@contextmanager
def user_errors(tx: TraceContext) -> Iterator[None]:
    """Errors of the block are exceptions of the user's program.
    Only around operations of builtin containers on trackers."""
    try:
        yield
    # only these: an error of any other type is one of ours
    except (IndexError, ValueError, TypeError, OverflowError, MemoryError) as error:
        raise_observed(tx, type(error), *[from_python(tx, argument) for argument in error.args])


def compare_items(
    tx: TraceContext, symbol: str, left: Sequence[Tracker], right: Sequence[Tracker]
) -> Tracker:
    """Lexicographic comparison (CPython `list_richcompare`): the first pair that differs decides.

    Code of the user that runs for a pair may change the length of either list, which is asked anew for each pair.
    """
    equality = symbol in ("==", "!=")
    if equality and len(left) != len(right):
        return Constant(symbol == "!=")
    index = 0
    while index < len(left) and index < len(right) and known_equal(tx, left[index], right[index]):
        index += 1
    if index >= len(left) or index >= len(right):
        return Constant(FUNCTIONS[symbol](len(left), len(right)))
    if equality:
        return Constant(symbol == "!=")
    return compare(tx, symbol, left[index], right[index])


def find(
    tx: TraceContext, items: Sequence[Tracker], value: Tracker, start: int = 0, stop: int | None = None
) -> int | None:
    """The index of the first item equal to `value`. `items` may shrink while user code compares."""
    index = start
    while index < (len(items) if stop is None else min(stop, len(items))):
        if known_equal(tx, items[index], value):
            return index
        index += 1
    return None


def count(tx: TraceContext, items: Sequence[Tracker], value: Tracker) -> int:
    """The number of items equal to `value`. `items` may shrink or grow while user code compares."""
    return sum(known_equal(tx, item, value) for item in items)


def bounds(
    tx: TraceContext, length: int, start: Tracker | None, stop: Tracker | None
) -> tuple[int, int | None]:
    """Start and stop of `index(value, start, stop)`, counted from the end when negative."""
    first = 0 if start is None else index_of(tx, start, NO_SEARCH_INDEX)
    last = None if stop is None else index_of(tx, stop, NO_SEARCH_INDEX)
    first = max(first + length, 0) if first < 0 else first
    return first, max(last + length, 0) if last is not None and last < 0 else last


def position(tx: TraceContext, key: Tracker, name: str) -> Key:
    """The subscript of a list or tuple: an int or a slice of known ints; TypeError for other types of key."""
    key = key.realize()
    if issubclass(key.python_type, slice):
        # in the order of `PySlice_Unpack`
        step = _slice_member(tx, key, "step")
        if step == 0:
            raise_observed(tx, ValueError, "slice step cannot be zero")
        start, stop = _slice_member(tx, key, "start"), _slice_member(tx, key, "stop")
        return slice(start, stop, step)
    return index_of(tx, key, f"{name} indices must be integers or slices, not {type_name(key)}")


def _slice_member(tx: TraceContext, key: Tracker, name: str) -> int | None:
    value = key.attribute(tx, name).realize()
    if isinstance(value, Constant) and value.value is None:
        return None
    return index_of(tx, value, NO_SLICE_INDEX)


def repeat_count(tx: TraceContext, value: Tracker) -> int | None:
    """The number in `sequence * value`; None when `value` is no integer, so that the other operand decides."""
    value = value.realize()
    cls = value.python_type
    # the number in an instance of a subclass of int counts, as for `PyNumber_AsSsize_t`
    part = value.builtin_part_or_self(tx)
    # CPython asks the number slots of both operands before it repeats the sequence
    if isinstance(part, Constant):
        return None if not isinstance(part.value, int) or _reflects(tx, cls, int) else int(part.value)
    if not defines(cls, "__index__") or _reflects(tx, cls, object):
        # A symbolic number or tensor: multiplication is theirs, unless they are integers to C code.
        return index_of(tx, value) if cls is int else None
    return index_of(tx, value)


def _reflects(tx: TraceContext, cls: type, base: type) -> bool:
    """Whether a class has a `__rmul__` other than `base`; guards that it does not."""
    if overrides(cls, base, "__rmul__"):
        return True
    guard_class_attribute(tx, cls, "__rmul__")
    return False


@final
class Sortable:
    """The key of an item; `<` compares the trackers of the keys, so that a real sort compares as CPython would."""

    __slots__ = ("key", "tx")

    def __init__(self, tx: TraceContext, key: Tracker) -> None:
        self.tx = tx
        self.key = key

    def __lt__(self, other: "Sortable") -> bool:
        return known_compare(self.tx, "<", self.key, other.key)


def sort_items(
    tx: TraceContext, items: list[Tracker], key: Callable[[Tracker], Tracker] | None, reverse: bool
) -> None:
    """Sort in place, as `list.sort` does: the same comparisons in the same order. After an exception the items are in the
    order that the sort had reached; ValueError where the key or a comparison changes the list, which is empty meanwhile."""
    try:
        # a real sort of the very list, which notices changes as CPython does
        items.sort(key=lambda item: Sortable(tx, item if key is None else key(item)), reverse=reverse)
    except ValueError as error:
        if error.args != (_MODIFIED,):
            raise
        raise_observed(tx, ValueError, _MODIFIED)


def reaches_itself(tracker: Tracker) -> bool:
    """Whether a value created in the trace contains itself, through other values created in the trace."""
    pending = list(tracker.children())
    seen: set[int] = set()
    while pending:
        child = pending.pop()
        if child is tracker:
            return True
        # an existing object is loaded, not built, so no way leads on through it
        if child.source is None and id(child) not in seen:
            seen.add(id(child))
            pending.extend(child.children())
    return False


def raise_unhashable(tx: TraceContext, tracker: Tracker) -> Never:
    """Raise the TypeError of `hash()` for a mutable container."""
    raise UnhashableValue(tx, f"unhashable type: '{type_name(tracker)}'")


def index_in(
    tx: TraceContext,
    items: Sequence[Tracker],
    value: Tracker,
    start: Tracker | None,
    stop: Tracker | None,
    missing: str,
) -> Tracker:
    """`items.index(value, start, stop)`; ValueError with the text `missing`, in which `{}` stands for the value."""
    place = find(tx, items, value, *bounds(tx, len(items), start, stop))
    if place is None:
        raise_observed(tx, ValueError, fill_absence_message(value, missing))
    return Constant(place)
