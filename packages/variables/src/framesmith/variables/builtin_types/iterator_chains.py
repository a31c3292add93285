"""`zip`, `enumerate`, `map` and `filter`: iterators over other iterators, and the rows that make them.

Iterators over containers are in `builtin_types.iterators`.
"""

from collections.abc import Iterator, Sequence
from typing import Final, final

from framesmith.guards.class_lookup import class_name
from framesmith.variables.builtin_types.iterators import IteratorTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker, Writer
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.operations.binary import binary
from framesmith.variables.operations.index import index_of
from framesmith.variables.operations.truth import known_truth

ROWS: Final = Rows()

ONE = Constant(1)


def is_none(value: Tracker | None) -> bool:
    """Whether an argument is None or was not given."""
    return value is None or (isinstance(value, Constant) and value.value is None)


@final
class ZipIterator(IteratorTracker):
    """`zip(*iterators, strict=)`."""

    def __init__(self, parts: Sequence[Tracker], strict: bool) -> None:
        self.parts = parts
        self.strict = strict

    @property
    def python_type(self) -> type:
        """`zip`."""
        return zip

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """A tuple of one item of each, or None as soon as one ends;
        with `strict` ValueError unless all end together."""
        items: list[Tracker] = []
        for index, part in enumerate(self.parts):
            item = part.advance(tx)
            if item is None:
                # the later iterators are not advanced: CPython looks at them only if the first one has ended
                if self.strict:
                    self._check_ended(tx, index)
                return None
            items.append(item)
        # `zip()` of nothing is empty
        return TupleTracker(items) if items else None

    def _check_ended(self, tx: TraceContext, ended: int) -> None:
        """`strict=True` (Python/bltinmodule.c, zip_next): ValueError
        unless all parts end after the same number of items."""
        if ended:
            others = "argument 1" if ended == 1 else f"arguments 1-{ended}"
            raise_observed(tx, ValueError, f"zip() argument {ended + 1} is shorter than {others}")
        for index, part in enumerate(self.parts[1:], 1):
            if part.advance(tx) is not None:
                others = "argument 1" if index == 1 else f"arguments 1-{index}"
                raise_observed(tx, ValueError, f"zip() argument {index + 1} is longer than {others}")

    def children(self) -> Iterator[Tracker]:
        """The iterators."""
        return iter(self.parts)

    def reconstruct(self, writer: Writer) -> str:
        """A call of `zip` on the iterators at their present positions."""
        # a comma behind each part, so that `strict` may follow none
        parts = "".join([f"{writer.value(part)}, " for part in self.parts])
        return f"{writer.constant(zip, 'zip')}({parts}strict={self.strict})"


@final
class EnumerateIterator(IteratorTracker):
    """`enumerate(iterator, count)`."""

    def __init__(self, part: Tracker, count: Tracker) -> None:
        self.part = part
        self.count = count

    @property
    def python_type(self) -> type:
        """`enumerate`."""
        return enumerate

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The pair of count and item."""
        item = self.part.advance(tx)
        if item is None:
            return None
        # after the item was taken, which may break the graph
        tx.changes.note(self)
        count, self.count = self.count, binary(tx, "+", self.count, ONE)
        return TupleTracker([count, item])

    def children(self) -> Iterator[Tracker]:
        """Iterator and count."""
        return iter((self.part, self.count))

    def reconstruct(self, writer: Writer) -> str:
        """A call of `enumerate` from the present count."""
        return f"{writer.constant(enumerate, 'enumerate')}({writer.value(self.part)}, {writer.value(self.count)})"


@final
class MapIterator(IteratorTracker):
    """`map(function, *iterators)`."""

    def __init__(self, function: Tracker, parts: Sequence[Tracker]) -> None:
        self.function = function
        self.parts = parts

    @property
    def python_type(self) -> type:
        """`map`."""
        return map

    def begin_advance(self, tx: TraceContext) -> Tracker | PendingCall | None:
        """Take one item of each; the symbolic interpreter runs the call, so that it may break inside."""
        items: list[Tracker] = []
        for part in self.parts:
            item = part.advance(tx)
            if item is None:
                return None
            items.append(item)
        return self.function.realize().begin_call(tx, items, {})

    def children(self) -> Iterator[Tracker]:
        """Function and iterators."""
        return iter((self.function, *self.parts))

    def reconstruct(self, writer: Writer) -> str:
        """A call of `map` on the iterators at their present positions."""
        parts = ", ".join([writer.value(part) for part in self.parts])
        return f"{writer.constant(map, 'map')}({writer.value(self.function)}, {parts})"


@final
class FilterIterator(IteratorTracker):
    """`filter(function, iterator)` and, with `keep` false, `itertools.filterfalse`."""

    def __init__(self, function: Tracker, part: Tracker, cls: type, keep: bool) -> None:
        self.function = function
        self.part = part
        self.cls = cls
        self.keep = keep

    @property
    def python_type(self) -> type:
        """`filter` or `filterfalse`."""
        return self.cls

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next item that passes, or None; a test whose truth is known at run time only breaks the graph."""
        # for None and for `bool` CPython tests the item itself, without a call
        by_itself = is_none(self.function) or (
            self.function.is_python_constant() and self.function.as_python_constant() is bool
        )
        while (item := self.part.advance(tx)) is not None:
            answer = item if by_itself else self.function.call(tx, [item], {})
            if known_truth(tx, answer) == self.keep:
                return item
        return None

    def children(self) -> Iterator[Tracker]:
        """Function and iterator."""
        return iter((self.function, self.part))

    def reconstruct(self, writer: Writer) -> str:
        """A call of the constructor on the iterator at its present position."""
        make = writer.constant(self.cls, class_name(self.cls))
        return f"{make}({writer.value(self.function)}, {writer.value(self.part)})"


def iterators(tx: TraceContext, iterables: Sequence[Tracker]) -> list[Tracker]:
    """The iterator of each iterable."""
    return [iterable.realize().iterate(tx).realize() for iterable in iterables]


@ROWS.call(zip)
def call_zip(tx: TraceContext, *iterables: Tracker, strict: Tracker | None = None) -> Tracker:
    """`zip(*iterables, strict=False)`."""
    return ZipIterator(iterators(tx, iterables), strict is not None and known_truth(tx, strict))


@ROWS.call(enumerate)
def call_enumerate(tx: TraceContext, iterable: Tracker, start: Tracker | None = None) -> Tracker:
    """`enumerate(iterable, start=0)`."""
    # a number that may change stays one; only other types are asked for their index
    if start is not None and not isinstance(start, Constant) and start.python_type is not int:
        start = Constant(index_of(tx, start))
    if isinstance(start, Constant):
        start = Constant(index_of(tx, start))
    return EnumerateIterator(iterable.iterate(tx).realize(), Constant(0) if start is None else start)


@ROWS.call(map)
def call_map(tx: TraceContext, function: Tracker, first: Tracker, /, *others: Tracker) -> Tracker:
    """`map(function, *iterables)`."""
    return MapIterator(function, iterators(tx, [first, *others]))


@ROWS.call(filter)
def call_filter(tx: TraceContext, function: Tracker, iterable: Tracker, /) -> Tracker:
    """`filter(function, iterable)`."""
    return FilterIterator(function, iterable.iterate(tx).realize(), filter, True)
