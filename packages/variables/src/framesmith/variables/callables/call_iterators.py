"""`iter(function, sentinel)`, and `reversed` of an object with only a length and subscripts."""

from collections.abc import Iterator
from typing import final

from framesmith.variables.builtin_types.iterators import IteratorTracker, ask_sequence_length
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.observed import ObservedException, is_observed_instance
from framesmith.variables.operations.index import index_of, known_equal


@final
class CallIterator(IteratorTracker):
    """`iter(function, sentinel)`: calls until the result equals
    the sentinel. Invariant: `function is None` once exhausted."""

    def __init__(self, function: Tracker, sentinel: Tracker) -> None:
        self.function: Tracker | None = function
        self.sentinel = sentinel

    @property
    def python_type(self) -> type:
        """`callable_iterator`."""
        return type(iter(list, ()))

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next result, or None when it equals the sentinel."""
        tx.changes.note(self)
        if self.function is None:
            return None
        try:
            # run to its end: the comparison with the sentinel has to follow
            result = self.function.call(tx, [], {})
        except ObservedException as error:
            # the end, for which CPython clears the error and lets go of the function
            if is_observed_instance(error, StopIteration):
                self.function = None
                return None
            raise
        if self._has_ended():  # the call has taken all further items itself
            return None
        if not known_equal(tx, self.sentinel, result):
            return result
        self.function = None
        return None

    # a method, since a type checker holds the attribute for what it was before the call
    def _has_ended(self) -> bool:
        return self.function is None

    def children(self) -> Iterator[Tracker]:
        """Function and sentinel."""
        return iter((self.sentinel,) if self.function is None else (self.function, self.sentinel))

    def reconstruct(self, writer: Writer) -> str:
        """A call of `iter` with two arguments."""
        make = writer.constant(iter, "iter")
        if self.function is None:
            none = writer.constant(_give_nothing, "nothing")
            return f"{make}({none}, None)"
        return f"{make}({writer.value(self.function)}, {writer.value(self.sentinel)})"


@final
class SubscriptReversed(IteratorTracker):
    """`reversed(sequence)` by the sequence protocol; `index` is -1 once exhausted."""

    def __init__(self, sequence: Tracker, index: int) -> None:
        self.sequence = sequence
        self.index = index

    @property
    def python_type(self) -> type:
        """`reversed`."""
        return reversed

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """`sequence[index]`; IndexError and StopIteration end it."""
        if self.index < 0:
            return None
        tx.changes.note(self)
        try:
            item = self.sequence.subscript(tx, Constant(self.index))
        except ObservedException as error:
            # CPython clears both kinds of error: the end, for an old-style sequence
            if not issubclass(error.exception.python_type, IndexError | StopIteration):
                raise
            self.index = -1
            return None
        self.index -= 1
        return item

    def ask_length(self, tx: TraceContext) -> Tracker | None:
        """Asks the sequence, which may have shrunk."""
        if self.index < 0:
            return None
        length = ask_sequence_length(tx, self.sequence)
        return None if length is None else Constant(min(self.index + 1, index_of(tx, length)))

    def children(self) -> Iterator[Tracker]:
        """The sequence."""
        yield self.sequence

    def reconstruct(self, writer: Writer) -> str:
        """A call of `reversed`, set to the same index."""
        make = writer.constant(reversed, "reversed")
        if self.index < 0:
            return f"{make}(())"
        name = writer.define(self, f"{make}({writer.value(self.sequence)})", "iterator")
        writer.statement(f"{name}.__setstate__({self.index})")
        return name


def _give_nothing() -> None:
    """The function of an exhausted iterator when it is reconstructed: its result is the sentinel."""
