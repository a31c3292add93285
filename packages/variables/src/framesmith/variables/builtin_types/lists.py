"""`list`: the tracker. Its methods are in `list_methods`."""

import operator
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Final, NoReturn, final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNKNOWN_ITERATOR, UNSUPPORTED_VALUE
from framesmith.guards import Source
from framesmith.guards.kinds import LengthIs, TypeIs
from framesmith.guards.sources import Item
from framesmith.variables.builtin_types.iterators import (
    LIST_ITERATOR,
    MOST_ITEMS,
    SequenceIterator,
    unpack_sequence,
)
from framesmith.variables.builtin_types.sequences import (
    compare_items,
    find,
    position,
    raise_unhashable,
    reaches_itself,
    repeat_count,
    user_errors,
)
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.builtin_methods import builtin_attribute
from framesmith.variables.core.builtin_type import BuiltinPart, BuiltinType, Join
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.folding import from_python
from framesmith.variables.core.remains import REMAINS
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.unspecialized import require_specializable
from framesmith.variables.core.wrap_rules import lazy

ROWS: Final = Rows()

# typed without operands: `refuse` below gives it an int for a slice
STORE: Final[Callable[..., None]] = operator.setitem


@final
class ListTracker(Tracker):
    """A list. Invariant: `items` is the state in the trace; an existing list is guarded by type.

    The items of an existing list are read, and its length guarded, when the trace needs them. An append before that
    does not read them, so that a loop that collects results is one entry however many it has (ADR 0010).
    """

    tells_changes = True

    def __init__(
        self,
        items: Iterable[Tracker],
        source: Source | None = None,
        cls: type = list,
        value: list[object] | None = None,
        read: Callable[[], list[Tracker]] | None = None,
    ) -> None:
        self._items = list(items)
        self._read = read
        self.source = source
        self.cls = cls
        self.value = value
        self._visiting = False

    @property
    def items(self) -> list[Tracker]:
        """The items; the same list object as long as the tracker lives."""
        if self._read is not None:
            # in place, since iterators and callers hold this list object
            self._items[:0] = self._read()  # which may break the graph
            self._read = None
        return self._items

    @property
    def is_unopened(self) -> bool:
        """Whether the trace has not read the items of the existing
        list yet, so that the real one still holds all of them."""
        return self._read is not None

    def hide(self, what: str) -> bool:
        """An entry will change the existing list behind the trace: reading it breaks the graph. False where it was read."""
        if self._read is None:
            return False

        # kept instead of the function that reads, so that any later look breaks the graph
        def refuse() -> NoReturn:
            raise GraphBreak(UNSUPPORTED_VALUE, what)

        self._read = refuse
        return True

    @property
    def python_type(self) -> type:
        """`list`, or the subclass whose builtin part this is."""
        return self.cls

    def is_python_constant(self) -> bool:
        """Whether all items are known; a list that holds itself is not."""
        # reached again through its own items
        if self._visiting:
            return False
        self._visiting = True
        try:
            return all(item.is_python_constant() for item in self.items)
        finally:
            self._visiting = False

    def as_python_constant(self) -> object:
        """A fresh list of the values."""
        return [item.as_python_constant() for item in self.items]

    def change(self, tx: TraceContext) -> list[Tracker]:
        """The items, for a caller that is about to change them: noted for replay."""
        # read first: a graph break before the change is noted can resume at this very operation
        items = self.items
        tx.changes.note(self)
        return items

    def append(self, tx: TraceContext, item: Tracker) -> None:
        """Append an item, without reading the existing ones."""
        tx.changes.note(self)
        self._items.append(item)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Methods of `list`."""
        return builtin_attribute(tx, self, name)

    def iterate(self, tx: TraceContext) -> Tracker:
        """`iter(self)`: an iterator that sees later changes of the list."""
        return SequenceIterator(self, self.items, LIST_ITERATOR)

    def length(self, tx: TraceContext) -> Tracker:
        """`len(self)`."""
        return Constant(len(self.items))

    def truth(self, tx: TraceContext) -> bool:
        """`bool(self)`: whether there are items; guards the length of an existing list."""
        return bool(self.items)

    def contains(self, tx: TraceContext, item: Tracker) -> Tracker:
        """`item in self`, by identity, then equality."""
        return Constant(find(tx, self.items, item) is not None)

    def subscript(self, tx: TraceContext, key: Tracker) -> Tracker:
        """An item, or a new list for a slice."""
        place = position(tx, key, "list")
        if isinstance(place, slice):
            return ListTracker(self.items[place])
        with user_errors(tx):
            return self.items[place]

    def set_subscript(self, tx: TraceContext, key: Tracker, value: Tracker) -> None:
        """`self[key] = value`; a slice takes any iterable."""
        place = position(tx, key, "list")
        if not isinstance(place, slice):
            tx.changes.note(self)
            with user_errors(tx):
                self.items[place] = value
            return

        def refuse() -> None:
            with user_errors(tx):  # the real list words it, differently in each Python version
                STORE(list(self.items), place, 0)

        # all taken before the list changes: they may come from it, or break the graph
        values = unpack_sequence(tx, value, refuse)
        tx.changes.note(self)
        with user_errors(tx):
            self.items[place] = values

    def delete_subscript(self, tx: TraceContext, key: Tracker) -> None:
        """`del self[key]`."""
        place = position(tx, key, "list")
        tx.changes.note(self)
        with user_errors(tx):
            del self.items[place]

    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`+` with a list, `*` with an integer."""
        if symbol == "+":
            right = other.builtin_part_or_self(tx)
            return ListTracker([*self.items, *right.items]) if isinstance(right, ListTracker) else None
        return self._repeat(tx, other) if symbol == "*" else None

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`integer * self`."""
        return self._repeat(tx, other) if symbol == "*" else None

    def inplace(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`+=` extends by any iterable, `*=` repeats."""
        if symbol == "+":
            self.extend(tx, other)
            return self
        times = repeat_count(tx, other) if symbol == "*" else None
        if times is None:
            return None
        with user_errors(tx):
            repeated = self.items * times
        tx.changes.note(self)
        self.items[:] = repeated
        return self

    def extend(self, tx: TraceContext, iterable: Tracker) -> None:
        """Append the items of an iterable one by one: each is in the list before the next one is computed."""
        iterable = iterable.realize()
        if isinstance(iterable, ListTracker):
            # a copy: `a += a` would not end
            given = tuple(iterable.items)
            tx.changes.note(self)
            # the own items stay unread: a loop that collects results needs no guard on their number (ADR 0010)
            self._items.extend(given)
            return
        # an instance of a subclass of list comes here too: CPython asks it for its iterator
        iterator = iterable.iterate(tx)
        iterable.ask_length(tx)
        tx.changes.note(self)
        # an iterator without end that is made in the trace would hang it
        limit = len(self._items) + MOST_ITEMS
        while (item := iterator.advance(tx)) is not None:
            self.append(tx, item)
            if len(self._items) > limit:
                raise GraphBreak(UNKNOWN_ITERATOR, f"{iterable.describe()} gave more than {MOST_ITEMS} items")

    def _repeat(self, tx: TraceContext, other: Tracker) -> Tracker | None:
        times = repeat_count(tx, other)
        if times is None:
            return None
        with user_errors(tx):
            return ListTracker(self.items * times)

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Lexicographic, with lists only."""
        right = other.builtin_part_or_self(tx)
        return compare_items(tx, symbol, self.items, right.items) if isinstance(right, ListTracker) else None

    def hash_key(self, tx: TraceContext) -> Hashable:
        """Lists have no hash."""
        return raise_unhashable(tx, self)

    def children(self) -> Iterator[Tracker]:
        """The items."""
        return iter(self.items)

    def known_children(self) -> Iterator[Tracker]:
        """The items that were read or appended in the trace."""
        return iter(self._items)

    def reconstruct(self, writer: Writer) -> str:
        """A display; a list that holds itself is made empty and filled."""
        if not reaches_itself(self):
            return self._display(writer)
        name = writer.define(self, "[]", "list")
        writer.statement(f"{name}.extend({self._display(writer)})")
        return name

    def replay(self, writer: Writer) -> None:
        """Write the items into the existing list: all, or only the appended ones
        if the old were not read. Overrides of a subclass are not called."""
        assert self.source is not None
        place = writer.load(self.source)
        # the old items are not known: the real list keeps them
        if self._read is not None:
            extend = writer.constant(list.extend, "list_extend")
            writer.statement(f"{extend}({place}, {self._display(writer)})")
            return
        if self.cls is list:
            # in place: other holders of the list see the items too
            writer.statement(f"{place}[:] = {self._display(writer)}")
        else:
            # past a `__setitem__` of the subclass, as the trace has run that already
            store = writer.constant(list.__setitem__, "list_setitem")
            writer.statement(
                f"{store}({place}, {writer.constant(slice(None), 'all')}, {self._display(writer)})"
            )

    def _display(self, writer: Writer) -> str:
        return f"[{', '.join([writer.value(item) for item in self._items])}]"


@ROWS.wrap(list)
def wrap_list(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing list; its items are not read before the trace needs them."""
    assert isinstance(value, list)
    tx.guard(source, TypeIs(list))
    return wrap_list_content(tx, value, source, list)


def wrap_list_content(tx: TraceContext, value: list[object], source: Source, cls: type) -> ListTracker:
    """The list part of an existing list or instance of a subclass, whose type is guarded already."""

    def read() -> list[Tracker]:
        require_specializable(tx, source)
        # the items are guarded when each is read
        items = list.copy(value)  # at once: another thread may change it
        tx.guard(source, LengthIs(len(items)))
        return [lazy(tx, item, Item(source, index)) for index, item in enumerate(items)]

    return ListTracker((), source, cls, value, read)


def make_list_tracker(tx: TraceContext, value: object) -> ListTracker:
    """The tracker of a list created in the trace, from known values."""
    assert isinstance(value, list)
    return ListTracker([from_python(tx, item) for item in value])


def copy_to_real_list(value: object) -> list[object]:
    """The items of an instance of a list subclass, read without overrides of the subclass."""
    assert isinstance(value, list)
    return list.copy(value)


def wrap_list_part(tx: TraceContext, value: object, source: Source, cls: type) -> Tracker:
    """The list part of an existing instance of a subclass."""
    assert isinstance(value, list)
    return wrap_list_content(tx, value, source, cls)


@ROWS.entry(REMAINS, ListTracker)
def list_remains(tracker: ListTracker) -> Iterable[object]:
    """The items, as long as they were not read."""
    return (tracker.value or ()) if tracker.is_unopened else ()


def list_text(tx: TraceContext, value: Tracker, join: Join) -> str:
    """`[1, 2]`."""
    assert isinstance(value, ListTracker)
    return f"[{join(tx, value.items)}]"


ROWS.builtin_type(
    BuiltinType(
        list,
        (ListTracker,),
        build=make_list_tracker,
        text=list_text,
        iterators=(type(iter([])), type(reversed([]))),
        part=BuiltinPart(copy_to_real_list, wrap_list_part, lambda: ListTracker([]), list.extend),
        holds_items=True,
        is_mutable=True,
    )
)
