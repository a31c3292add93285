"""Iterators: the base of all, those over sequences, and taking all items of an iterable.

Those that combine other iterators (`zip`, `map`, itertools) are in `iterator_chains` and `itertools_types`;
iterators that existed before the trace in `existing_iterators`.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Final, Protocol, final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNKNOWN_ITERATOR
from framesmith.guards.class_lookup import defines
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.builtin_methods import builtin_attribute
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.observed import ObservedException, is_observed_instance, unless_type_error
from framesmith.variables.operations.index import known_equal

# A trace that takes more items than this out of one iterator is taken for endless.
MOST_ITEMS = 1 << 20


class IteratorTracker(Tracker):
    """An iterator created in the trace. Subclasses give `python_type`, `begin_advance` and `reconstruct`."""

    _takes = False

    @property
    def is_rebuildable(self) -> bool:
        """Whether the trace may end now: what it iterates over has not changed in a way that an iterator made later would not notice."""
        return True

    def take(self, tx: TraceContext, part: Tracker) -> Tracker | None:
        """The next item of an iterator that this one reads, or None. Breaks the graph where code of the user that runs
        for it reads this one: what C code makes of that depends on what it has stored by then."""
        if self._takes:
            self.unsupported("reading it in the midst of reading it")
        self._takes = True
        try:
            return part.advance(tx)
        finally:
            self._takes = False

    def iterate(self, tx: TraceContext) -> Tracker:
        """An iterator is its own iterator."""
        return self

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Methods of the iterator type."""
        return builtin_attribute(tx, self, name)

    def truth(self, tx: TraceContext) -> bool:
        """An iterator is true."""
        return True

    def contains(self, tx: TraceContext, item: Tracker) -> Tracker:
        """`item in self`: advances up to the first equal item, as CPython does."""
        return Constant(search_iterator(tx, self, item))

    def hash_key(self, tx: TraceContext) -> Hashable:
        """Iterators hash by identity."""
        tx.changes.note_key(self)
        return ("object", self)


class _Sample:
    """Notes that its length is asked for."""

    asked = False

    def __len__(self) -> int:
        self.asked = True
        return 0

    def __iter__(self) -> Iterator[object]:
        return iter(())


def _asks_length(reading: Callable[[Iterable[object]], object]) -> bool:
    sample = _Sample()
    reading(sample)
    return sample.asked


# asked from the interpreter
TUPLE_ASKS: Final = _asks_length(tuple)  # until 3.13
"""Whether `tuple(iterable)` asks for the length first, as `list` does."""


def ask_sequence_length(tx: TraceContext, sequence: Tracker) -> Tracker | None:
    """The length of what an iterator reads by subscripts; None where it has none, or raises TypeError."""
    if not defines(sequence.python_type, "__len__"):
        return None
    return unless_type_error(lambda: sequence.length(tx))


def unpack_sequence(tx: TraceContext, iterable: Tracker, refuse: Callable[[], object]) -> list[Tracker]:
    """All items, as C code takes them that needs a sequence: what is no list or tuple gives its iterator
    to `list` (`PySequence_Fast`). `refuse` raises in place of a TypeError of `iter(iterable)`."""
    iterable = iterable.realize()
    # exact types: C code reads these directly, and asks a subclass for its iterator
    if iterable.python_type in (list, tuple):
        return unpack(tx, iterable)
    if not defines(iterable.python_type, "__iter__") and not defines(iterable.python_type, "__getitem__"):
        refuse()
    try:
        iterator = iterable.iterate(tx)
    except ObservedException as error:
        if is_observed_instance(error, TypeError):
            refuse()
        raise
    # the length of the iterator is asked for, since `list` is given that and not the iterable
    return unpack(tx, iterator, asks=True)


def unpack(tx: TraceContext, iterable: Tracker, *, asks: bool = False) -> list[Tracker]:
    """All items of an iterable; breaks the graph after `MOST_ITEMS`.
    With `asks` it is asked for its length first, as by `list(iterable)`."""
    iterable = iterable.realize()
    iterator = iterable.iterate(tx).realize()
    # after `iter`, as in CPython
    if asks:
        iterable.ask_length(tx)
    return list(_advance(tx, iterable, iterator))


def take_items(tx: TraceContext, iterable: Tracker) -> Iterator[Tracker]:
    """The items of an iterable, each taken when it is asked for, as C code does that uses one before it takes the next:
    code of the user may see the order, and an error leaves the rest in the iterator."""
    iterable = iterable.realize()
    # at once, since `iter` comes before anything that is done with the items
    return _advance(tx, iterable, iterable.iterate(tx).realize())


def _advance(tx: TraceContext, iterable: Tracker, iterator: Tracker) -> Iterator[Tracker]:
    taken = 0
    while (item := iterator.advance(tx)) is not None:
        yield item
        taken += 1
        if taken > MOST_ITEMS:
            raise GraphBreak(UNKNOWN_ITERATOR, f"{iterable.describe()} gave more than {MOST_ITEMS} items")


def search_iterator(tx: TraceContext, iterator: Tracker, item: Tracker) -> bool:
    """`item in iterator` for an iterator: advances up to the first equal item."""
    while (candidate := iterator.advance(tx)) is not None:
        if known_equal(tx, candidate, item):
            return True
    return False


@final
class SequenceIterator(IteratorTracker):
    """`iter(a list or tuple)`. Invariant: `sequence is None` once exhausted, for good."""

    def __init__(self, sequence: Tracker, items: Sequence[Tracker], cls: type, index: int = 0) -> None:
        self.sequence: Tracker | None = sequence
        self.items = items
        self.cls = cls
        self.index = index

    @property
    def python_type(self) -> type:
        """`list_iterator`, `tuple_iterator` ..."""
        return self.cls

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The item at the index, or None at the end; items that a list gained meanwhile are given too."""
        tx.changes.note(self)
        if self.sequence is None:
            return None
        if self.index >= len(self.items):
            # CPython lets go of the sequence, so that items added later are not given
            self.sequence, self.items = None, ()
            return None
        self.index += 1
        return self.items[self.index - 1]

    def children(self) -> Iterator[Tracker]:
        """The sequence."""
        return iter(() if self.sequence is None else (self.sequence,))

    def reconstruct(self, writer: Writer) -> str:
        """`iter(sequence)`, moved to the index."""
        make = writer.constant(iter, "iter")
        if self.sequence is None:
            empty = {LIST_ITERATOR: "[]", TUPLE_ITERATOR: "()"}[self.cls]
            return f"{make}({empty})"
        if self.index > len(self.items):
            return _beyond_end(self, writer, self.sequence, iter, self.index)
        text = f"{make}({writer.value(self.sequence)})"
        return at_index(self, writer, text, self.index)


@final
class ReversedIterator(IteratorTracker):
    """`reversed(a list or tuple)`: counts down. Invariant: `sequence is None` once exhausted."""

    def __init__(self, sequence: Tracker, items: Sequence[Tracker], cls: type) -> None:
        self.sequence: Tracker | None = sequence
        self.items = items
        self.cls = cls
        self.index = len(items) - 1

    @property
    def python_type(self) -> type:
        """`list_reverseiterator` or `reversed`."""
        return self.cls

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The item at the index, or None; a list that shrank below the index ends the iteration."""
        tx.changes.note(self)
        if self.sequence is None:
            return None
        if not 0 <= self.index < len(self.items):
            self.sequence, self.items = None, ()
            return None
        self.index -= 1
        return self.items[self.index + 1]

    def children(self) -> Iterator[Tracker]:
        """The sequence."""
        return iter(() if self.sequence is None else (self.sequence,))

    def reconstruct(self, writer: Writer) -> str:
        """`reversed(sequence)`, moved to the index."""
        make = writer.constant(reversed, "reversed")
        if self.sequence is None:
            return f"{make}({'[]' if self.cls is LIST_REVERSED else '()'})"
        if self.index >= len(self.items):
            return _beyond_end(self, writer, self.sequence, reversed, self.index)
        # a new one begins at the end of the sequence as it is after the graph, which may have grown
        name = writer.define(self, f"{make}({writer.value(self.sequence)})", "iterator")
        writer.statement(f"{name}.__setstate__({self.index})")
        return name


def at_index(tracker: Tracker, writer: Writer, text: str, index: int) -> str:
    """An iterator made by `text`, moved to `index` through its `__setstate__`."""
    if index == 0:
        return text
    name = writer.define(tracker, text, "iterator")
    # without taking items, which a list may have lost meanwhile
    writer.statement(f"{name}.__setstate__({index})")
    return name


def _beyond_end(
    tracker: Tracker, writer: Writer, sequence: Tracker, function: Callable[..., object], index: int
) -> str:
    """An iterator over a list that has become shorter than its `index`."""
    make = writer.constant(iterate_beyond_end, "iterate_beyond_end")
    kind = writer.constant(function, "iter" if function is iter else "reversed")
    return writer.define(tracker, f"{make}({kind}, {writer.value(sequence)}, {index})", "iterator")


def iterate_beyond_end(
    function: Callable[[list[object]], "MovableIterator"], target: list[object], index: int
) -> "MovableIterator":
    """`iter(target)` or `reversed(target)` at an index behind the end, which counts once the list has grown."""
    length = list.__len__(target)
    # `__setstate__` takes no index behind the end
    list.extend(target, [None] * (index + 1 - length))
    iterator = function(target)
    iterator.__setstate__(index)
    list.__delitem__(target, slice(length, None))
    return iterator


class MovableIterator(Protocol):
    """An iterator that can be set to an index."""

    def __next__(self) -> object:
        """The next item."""

    def __setstate__(self, index: int, /) -> None:
        """Go on with the item at the index."""


LIST_ITERATOR: type = type(iter([]))
TUPLE_ITERATOR: type = type(iter(()))
LIST_REVERSED: type = type(reversed([]))
TUPLE_REVERSED: type = type(reversed(()))
