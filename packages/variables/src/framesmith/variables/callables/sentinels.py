"""`iter(function, sentinel)`."""

from collections.abc import Iterator
from typing import final

from framesmith.variables.builtin_types.iterators import IteratorTracker
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.operations.index import known_equal


@final
class CallIterator(IteratorTracker):
    """Calls a function until it gives the sentinel. Invariant: `function is None` once exhausted."""

    def __init__(self, function: Tracker, sentinel: Tracker) -> None:
        self.function: Tracker | None = function
        self.sentinel = sentinel

    @property
    def python_type(self) -> type:
        """`callable_iterator`."""
        return type(iter(list, ()))

    def advance(self, tx: TraceContext) -> Tracker | None:
        """The next result."""
        tx.mutations.note(self)
        if self.function is None:
            return None
        result = self.function.call(tx, [], {})
        if not known_equal(tx, self.sentinel, result):
            return result
        self.function = None
        return None

    def children(self) -> Iterator[Tracker]:
        """Function and sentinel."""
        return iter((self.sentinel,) if self.function is None else (self.function, self.sentinel))

    def reconstruct(self, writer: Writer) -> str:
        """A call of `iter` with two arguments."""
        make = writer.constant(iter, "iter")
        if self.function is None:
            none = writer.constant(_nothing, "nothing")
            return f"{make}({none}, None)"
        return f"{make}({writer.value(self.function)}, {writer.value(self.sentinel)})"


def _nothing() -> None:
    """What an exhausted iterator of this kind calls: ends at once."""
