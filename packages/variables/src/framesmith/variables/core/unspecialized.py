"""Unspecialized values, which differ in each iteration of a loop: operations that need them run natively (ADR 0010).

The specialization policy says which they are; a trace passes them on unread, or breaks before an operation reads them.
"""

from typing import NoReturn

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import CHANGING_VALUE
from framesmith.guards import Source
from framesmith.variables.core.base import TraceContext, Tracker


def require_specializable(tx: TraceContext, value: Tracker | Source) -> None:
    """Break the graph before the trace reads the content of an
    unspecialized container, or the next item of an iterator."""
    source = value.source if isinstance(value, Tracker) else value
    if source is not None and tx.wrap.policy.is_unspecialized(source):
        break_on_changing_value(value.describe() if isinstance(value, Tracker) else source.text())


def is_computed_unspecialized(tx: TraceContext, source: Source) -> bool:
    """Whether one of the values from which a source is computed is unspecialized."""
    return any(tx.wrap.policy.is_unspecialized(leaf) for leaf in source.leaves())


def break_on_changing_value(shown: str) -> NoReturn:
    """Break the graph: the operation needs a value that differs each time."""
    raise GraphBreak(CHANGING_VALUE, shown)


def refuse_unread(*operands: Tracker) -> None:
    """Break the graph where an operand is a value that the trace must not read; nothing otherwise. Asked in front of what refuses an
    operand for its type."""
    for operand in operands:
        if operand.is_unread:
            break_on_changing_value(operand.describe())


class UnspecializedTracker(Tracker):
    """A value of a builtin type that the trace must not read.

    An operator on it breaks the graph and runs natively, since its result depends on the value. None would mean
    NotImplemented, from which the program would get a TypeError (ADR 0010).
    """

    def unsupported(self, doing: str, *methods: str) -> NoReturn:
        """The type is known, its value must not be."""
        break_on_changing_value(self.describe())

    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Break the graph: the result depends on the value."""
        return break_on_changing_value(self.describe())

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Break the graph: the result depends on the value."""
        return break_on_changing_value(self.describe())

    def inplace(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Break the graph: the result depends on the value."""
        return break_on_changing_value(self.describe())

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Break the graph: the result depends on the value."""
        return break_on_changing_value(self.describe())

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """True for this tracker itself, False for a value of another type; else breaks the graph."""
        if self is other:
            return True
        return other.realize().python_type is self.python_type and break_on_changing_value(self.describe())
