"""`collections.deque`: the tracker. Its methods are in `deque_methods`."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Final, final

from framesmith.guards import Source
from framesmith.guards.kinds import EqualTo, LengthIs, TypeIs
from framesmith.guards.sources import Attribute, Item
from framesmith.variables.builtin_types.dict_iterators import advance_by
from framesmith.variables.builtin_types.iterators import IteratorTracker, take_items
from framesmith.variables.builtin_types.sequences import (
    raise_unhashable,
    reaches_itself,
    repeat_count,
    user_errors,
)
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.builtin_methods import builtin_attribute
from framesmith.variables.core.builtin_type import BuiltinType, Join
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.folding import from_python
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.remains import REMAINS
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.type_names import type_name
from framesmith.variables.core.unspecialized import require_specializable
from framesmith.variables.core.wrap_rules import lazy
from framesmith.variables.operations.compare import FUNCTIONS, compare
from framesmith.variables.operations.index import index_of, known_equal

ROWS: Final = Rows()

NONE: Final = Constant(None)
ONE: Final = Constant(1)


@final
class DequeTracker(Tracker):
    """A deque. Invariant: `items` is the state in the trace, with the maximal length of the real one.

    `items` goes through the operations of the program, so that its own iterators know what is a structural change: in
    CPython some operations count as one although they change nothing, and others do not (Modules/_collectionsmodule.c).
    """

    def __init__(
        self,
        items: Iterable[Tracker] = (),
        maxlen: int | None = None,
        source: Source | None = None,
        value: "deque[object] | None" = None,
        read: Callable[[], list[Tracker]] | None = None,
    ) -> None:
        self.value = value
        self.maxlen = maxlen
        self._items: deque[Tracker] = deque(items, maxlen)
        self._read = read
        self.source = source
        # of what the trace found; None where it has added to that unread
        self._watch: Iterator[Tracker] | None = iter(self._items)

    @property
    def items(self) -> "deque[Tracker]":
        """The items; the same deque object as long as the tracker
        lives. The first read guards the length of an existing deque."""
        if self._read is not None:
            appended = is_restructured(self._watch)
            self._items.extendleft(reversed(self._read()))  # which may break the graph
            self._watch = None if appended else iter(self._items)
            self._read = None
        return self._items

    @property
    def is_unopened(self) -> bool:
        """Whether the trace has not read the items of the existing
        deque yet, so that the real one still holds all of them."""
        return self._read is not None

    @property
    def python_type(self) -> type:
        """`deque`."""
        return deque

    def is_python_constant(self) -> bool:
        """Deques are not folded."""
        return False

    def change(self, tx: TraceContext) -> "deque[Tracker]":
        """The items, for a caller that is about to change them: noted for replay."""
        # read first: a graph break before the change is noted can resume at this very operation
        items = self.items
        tx.changes.note(self)
        return items

    def append(self, tx: TraceContext, item: Tracker) -> None:
        """Append an item. Without `maxlen` the existing items are not read; with it the oldest may go, so they are."""
        tx.changes.note(self)
        # kept unread where possible, so that a loop that collects results is one entry (ADR 0010)
        (self._items if self.maxlen is None else self.items).append(item)

    def extend(self, tx: TraceContext, iterable: Tracker) -> None:
        """Append all items of an iterable, which may be the deque itself."""
        # `d += d` gives the items that there were: CPython copies the deque first
        for item in take_items(tx, DequeTracker(self.items) if iterable is self else iterable):
            # one without room takes the items and changes nothing, unlike `append`
            if self.maxlen != 0:
                self.change(tx).append(item)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Methods and `maxlen`."""
        return builtin_attribute(tx, self, name)

    def iterate(self, tx: TraceContext) -> Tracker:
        """`iter(self)`."""
        return DequeIterator(self, backwards=False)

    def length(self, tx: TraceContext) -> Tracker:
        """`len(self)`."""
        return Constant(len(self.items))

    def truth(self, tx: TraceContext) -> bool:
        """`bool(self)`: whether there are items; guards the length of an existing deque."""
        return bool(self.items)

    def contains(self, tx: TraceContext, item: Tracker) -> Tracker:
        """`item in self`, by identity, then equality."""
        return Constant(any(same for _, same in compare_each(tx, self, item)))

    def _place(self, tx: TraceContext, key: Tracker) -> int:
        shown = type_name(key.realize())
        return index_of(tx, key, f"sequence index must be integer, not '{shown}'")

    def subscript(self, tx: TraceContext, key: Tracker) -> Tracker:
        """An item; deques have no slices."""
        place = self._place(tx, key)
        with user_errors(tx):
            return self.items[place]

    def set_subscript(self, tx: TraceContext, key: Tracker, value: Tracker) -> None:
        """`self[key] = value`."""
        place = self._place(tx, key)
        with user_errors(tx):
            self.change(tx)[place] = value

    def delete_subscript(self, tx: TraceContext, key: Tracker) -> None:
        """`del self[key]`."""
        place = self._place(tx, key)
        with user_errors(tx):
            del self.change(tx)[place]

    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`+` with a deque, `*` with an integer."""
        if symbol == "+" and isinstance(other, DequeTracker):
            # with the `maxlen` of the left operand, so that its oldest items may drop out (`deque_concat`)
            return DequeTracker([*self.items, *other.items], self.maxlen)
        return self._repeat(tx, other) if symbol == "*" else None

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`integer * self`."""
        return self._repeat(tx, other) if symbol == "*" else None

    def inplace(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`+=` extends, `*=` repeats."""
        if symbol == "+":
            self.extend(tx, other)
            return self
        times = repeat_count(tx, other) if symbol == "*" else None
        if times is None:
            return None
        items = self.change(tx)
        with user_errors(tx):
            items *= times
        return self

    def _repeat(self, tx: TraceContext, other: Tracker) -> Tracker | None:
        times = repeat_count(tx, other)
        if times is None:
            return None
        with user_errors(tx):
            return DequeTracker(self.items * times, self.maxlen)

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Lexicographic, with deques only; RuntimeError where comparing a pair changes the structure of one of them."""
        if not isinstance(other, DequeTracker):
            return None
        if symbol in ("==", "!=") and len(self.items) != len(other.items):
            return Constant(symbol == "!=")
        # iterators, so that a comparison which changes one of the deques raises as in CPython
        mine, theirs = DequeIterator(self, backwards=False), DequeIterator(other, backwards=False)
        while True:
            one, twin = mine.advance(tx), theirs.advance(tx)
            if one is None or twin is None:
                return Constant(FUNCTIONS[symbol](one is not None, twin is not None))
            if not known_equal(tx, one, twin):
                return compare(tx, symbol, one, twin)

    def hash_key(self, tx: TraceContext) -> Hashable:
        """Deques have no hash."""
        return raise_unhashable(tx, self)

    def children(self) -> Iterator[Tracker]:
        """The items."""
        return iter(self.items)

    def known_children(self) -> Iterator[Tracker]:
        """The items that were read or appended in the trace."""
        return iter(self._items)

    def reconstruct(self, writer: Writer) -> str:
        """A call of `deque`; one that holds itself is made empty and filled."""
        kind = writer.constant(deque, "deque")
        if reaches_itself(self):
            # named before its items are written, which refer to it
            name = writer.define(self, f"{kind}((), {self.maxlen})", "deque")
            writer.statement(f"{name}.extend({self._display(writer)})")
            return name
        return f"{kind}({self._display(writer)}, {self.maxlen})"

    def replay(self, writer: Writer) -> None:
        """Write the new items into the existing deque: all of them,
        or only the appended ones if the old were not read."""
        assert self.source is not None
        place, display = writer.load(self.source), self._display(writer)
        if self._read is not None:
            writer.statement(f"{place}.extend({display})")
            return
        # iterators that the trace does not see go on where no operation was a structural change
        put = put_items if is_restructured(self._watch) else replace_items
        writer.statement(f"{writer.constant(put, put.__name__)}({place}, {display})")

    def _display(self, writer: Writer) -> str:
        return f"[{', '.join([writer.value(item) for item in self._items])}]"


def compare_each(
    tx: TraceContext, owner: DequeTracker, value: Tracker, first: int = 0, last: int | None = None
) -> Iterator[tuple[int, bool]]:
    """The index of each item from `first` to before `last`, and whether it equals `value`; RuntimeError once comparing
    changed the structure."""
    watch = iter(owner.items)
    for place, item in enumerate(tuple(owner.items)[first:last], first):
        yield place, known_equal(tx, item, value)
        if is_restructured(watch):
            raise_observed(tx, RuntimeError, "deque mutated during iteration")


def is_restructured(watch: Iterator[Tracker] | None) -> bool:
    """Whether the deque of an iterator has changed its structure since `iter(deque)`; True for None. Advances it."""
    if watch is None:
        return True
    try:
        # a real one looks at the deque before it looks at the end
        next(watch, None)
    except RuntimeError:
        return True
    return False


@final
class DequeIterator(IteratorTracker):
    """`iter(deque)` or `reversed(deque)`. Invariant: `real`, the iterator
    over the items in the trace, is where that of the program is."""

    def __init__(self, owner: DequeTracker, backwards: bool) -> None:
        self.owner = owner
        self.backwards = backwards
        self.real = reversed(owner.items) if backwards else iter(owner.items)
        self.watch = iter(owner.items)
        self.index = 0

    @property
    def python_type(self) -> type:
        """`deque_iterator` or `deque_reverse_iterator`."""
        return type(reversed(deque[object]())) if self.backwards else type(iter(deque[object]()))

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next item, or None at the end; RuntimeError once the deque has changed its structure."""
        tx.changes.note(self)
        try:
            item = next(self.real, None)
        except RuntimeError as error:
            raise_observed(tx, RuntimeError, *error.args)
        self.index += item is not None
        return item

    def children(self) -> Iterator[Tracker]:
        """The deque."""
        yield self.owner

    @property
    def is_rebuildable(self) -> bool:
        """Whether the deque has not changed since."""
        return not is_restructured(self.watch)

    def reconstruct(self, writer: Writer) -> str:
        """`iter(deque)`, advanced by as many items; breaks the graph when the deque has changed since."""
        if not self.is_rebuildable:
            self.unsupported("building it again after its deque changed")
        function = reversed if self.backwards else iter
        text = f"{writer.constant(function, function.__name__)}({writer.value(self.owner)})"
        if not self.index:
            return text
        name = writer.define(self, text, "iterator")
        writer.statement(f"{writer.constant(advance_by, 'advance_by')}({name}, {self.index})")
        return name


def put_items(target: "deque[object]", items: list[object]) -> None:
    """Make `target` hold just these items; a structural change, as those that it stands for."""
    if not items:
        # emptying a deque that is empty would be none
        target.append(None)
    target.clear()
    target.extend(items)


def replace_items(target: "deque[object]", items: list[object]) -> None:
    """Make `target` hold these items in place of as many others; no structural change."""
    if len(target) != len(items):
        # changed from outside while the graph ran
        put_items(target, items)
        return
    for index, item in enumerate(items):
        target[index] = item


def wrap_deque(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing deque; its items are not read before the trace needs them, its `maxlen` is guarded."""
    assert isinstance(value, deque)
    tx.guard(source, TypeIs(deque))
    # `maxlen` cannot be set, but another deque of the next call may have another one, which is no number of the graph
    tx.guard(Attribute(source, "maxlen"), EqualTo(value.maxlen))

    def read() -> list[Tracker]:
        require_specializable(tx, source)
        items = list(value)  # at once: another thread may change it
        tx.guard(source, LengthIs(len(items)))
        return [lazy(tx, item, Item(source, index)) for index, item in enumerate(items)]

    return DequeTracker((), value.maxlen, source, value, read)


def build_deque(tx: TraceContext, value: object) -> Tracker:
    """The tracker of a deque created in the trace, from known values."""
    assert isinstance(value, deque)
    return DequeTracker([from_python(tx, item) for item in value], value.maxlen)


@ROWS.entry(REMAINS, DequeTracker)
def deque_remains(tracker: DequeTracker) -> Iterable[object]:
    """The items, as long as they were not read."""
    return (tracker.value or ()) if tracker.is_unopened else ()


def deque_text(tx: TraceContext, value: Tracker, join: Join) -> str:
    """`deque([1, 2], maxlen=3)`."""
    assert isinstance(value, DequeTracker)
    limit = f", maxlen={value.items.maxlen}" if value.items.maxlen is not None else ""
    return f"{deque.__name__}([{join(tx, value.items)}]{limit})"


ROWS.builtin_type(
    BuiltinType(
        deque,
        (DequeTracker,),
        wrap=wrap_deque,
        build=build_deque,
        text=deque_text,
        iterators=(type(iter(deque[object]())), type(reversed(deque[object]()))),
        holds_items=True,
        is_mutable=True,
    )
)
