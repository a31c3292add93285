"""Values that are other ones in each round of a loop: what needs to know them runs natively, between two graphs.

The policy of whoever compiles says which ones they are; a trace passes them on, or stops before it looks at them.
"""

from typing import NoReturn

from framesmith.graph import GraphBreak
from framesmith.graph.break_kinds import CHANGING_VALUE
from framesmith.guards import Source
from framesmith.variables.core.base import TraceContext, Tracker


def require_specializable(tx: TraceContext, value: Tracker | Source) -> None:
    """Break the graph before the content of an unspecialised container, or the next item of an iterator, is read."""
    source = value.source if isinstance(value, Tracker) else value
    if source is not None and tx.graph.is_unspecialized(source):
        cannot_specialize(value.describe() if isinstance(value, Tracker) else source.text())


def cannot_specialize(shown: str) -> NoReturn:
    """Break the graph because of a value that is never twice the same."""
    raise GraphBreak(CHANGING_VALUE, shown)


class UnspecializedTracker(Tracker):
    """A value of a builtin type that must not be looked at. For an operator, None would stand for NotImplemented, and
    the program would get a TypeError; the answer is in the value, so the operator runs natively."""

    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Not known."""
        return cannot_specialize(self.describe())

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Not known."""
        return cannot_specialize(self.describe())

    def inplace(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Not known."""
        return cannot_specialize(self.describe())

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Not known."""
        return cannot_specialize(self.describe())

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """Only that it is itself, or no object of another type."""
        if self is other:
            return True
        return other.realize().python_type is self.python_type and cannot_specialize(self.describe())
