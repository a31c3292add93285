"""The iterator of CPython's sequence protocol, over objects of classes with `__getitem__` only, and arrays."""

from collections.abc import Hashable, Iterator
from typing import final

from framesmith.variables.builtin_types.iterators import ask_sequence_length
from framesmith.variables.core.base import (
    TraceContext,
    Tracker,
    Writer,
)
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.observed import ObservedException, is_observed_instance
from framesmith.variables.operations.index import index_of


@final
class ItemIterator(Tracker):
    """An iterator over an object with `__getitem__` but without `__iter__`, as of CPython's sequence protocol.

    `count`: the number of items, where it is known; without it an IndexError ends the iterator.
    """

    def __init__(self, target: Tracker, count: int | None = None) -> None:
        self.target = target
        self.count = count
        self.index = 0
        self.finished = False

    @property
    def python_type(self) -> type:
        """`iterator`, CPython's type for the sequence protocol."""
        return _SEQUENCE_ITERATOR

    def iterate(self, tx: TraceContext) -> Tracker:
        """An iterator is its own iterator."""
        return self

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The item at the next index; None once IndexError or StopIteration was raised."""
        if self.finished:
            return None
        # It advances, which is a side effect of a traced body that was given it.
        tx.changes.note(self)
        if self.index == self.count:
            self.finished = True
            return None
        try:
            item = self.target.subscript(tx, Constant(self.index))
        except ObservedException as error:
            if not is_observed_instance(error, IndexError, StopIteration):
                raise
            # As in `iter_iternext`, an iterator that has ended does not ask again, even if the sequence grows.
            self.finished = True
            return None
        self.index += 1
        return item

    def ask_length(self, tx: TraceContext) -> Tracker | None:
        """Asks the object for its length, if it has one and is still read."""
        length = None if self.finished else ask_sequence_length(tx, self.target)
        return None if length is None else Constant(max(0, index_of(tx, length) - self.index))

    def truth(self, tx: TraceContext) -> bool:
        """An iterator is true."""
        return True

    def hash_key(self, tx: TraceContext) -> Hashable:
        """It hashes by identity."""
        tx.changes.note_key(self)
        return ("object", self)

    def children(self) -> Iterator[Tracker]:
        """The object."""
        yield self.target

    def reconstruct(self, writer: Writer) -> str:
        """A new iterator at the same index."""
        if self.finished:
            return writer.define(self, f"{writer.constant(make_exhausted, 'make_exhausted')}()", "iterator")
        make = writer.constant(iter, "iter")
        name = writer.define(self, f"{make}({writer.value(self.target)})", "iterator")
        writer.statement(f"{name}.__setstate__({self.index})")
        return name


class _Indexable:
    def __getitem__(self, index: int) -> int:
        raise IndexError(index)


_SEQUENCE_ITERATOR: type = type(iter(_Indexable()))


def make_exhausted() -> Iterator[object]:
    """An iterator of the sequence protocol that has ended."""
    iterator = iter(_Indexable())
    next(iterator, None)
    return iterator
