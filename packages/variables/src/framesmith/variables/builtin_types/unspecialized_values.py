"""Unspecialized values (ADR 0010): an existing text, enum member, tuple ... that differs in each iteration of a loop.

The trace passes it on unread; only its type is guarded. A comparison with a known value is allowed, and its result
guarded; an operation that needs the value itself breaks the graph and runs natively.
"""

import enum
from typing import Final, final

from framesmith.guards import Source
from framesmith.guards.kinds import EqualTo, Identical, NotEqualTo, NotIdentical, Truthy
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.builtin_methods import builtin_attribute
from framesmith.variables.core.constant import LITERAL_TYPES, Constant
from framesmith.variables.core.unspecialized import UnspecializedTracker, break_on_changing_value

_SINGLETONS: Final = frozenset({bool, type(None), type(...), type(NotImplemented)})
_TEXTS: Final = frozenset({str, bytes})


@final
class UnspecializedValue(UnspecializedTracker):
    """An immutable existing value of which the trace knows only the type, which is guarded."""

    def __init__(self, value: object, source: Source) -> None:
        self.value = value
        self.source: Source = source

    @property
    def python_type(self) -> type:
        """The exact type of the value, which is guarded."""
        return type(self.value)

    @property
    def is_unread(self) -> bool:
        """True: the trace must not read it."""
        return True

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Methods of literals and tuples, bound; other attributes break the graph."""
        if type(self.value) not in LITERAL_TYPES and type(self.value) is not tuple:
            break_on_changing_value(self.describe())
        return builtin_attribute(tx, self, name)

    def truth(self, tx: TraceContext) -> bool:
        """The truth of the value, guarded; breaks the graph for types whose truth may be user code."""
        if type(self.value) not in LITERAL_TYPES and type(self.value) is not tuple:
            break_on_changing_value(self.describe())
        tx.guard(self, Truthy(bool(self.value)))
        return bool(self.value)

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`==` and `!=` with a known value, guarded by the result: enum members
        by identity, texts by equality. All other comparisons break the graph."""
        if symbol not in ("==", "!=") or not isinstance(other, Constant):
            break_on_changing_value(self.describe())
        if isinstance(self.value, enum.Enum):
            # the class compares in Python, which cannot be guarded
            if type(self.value).__eq__ is not object.__eq__:
                break_on_changing_value(self.describe())
            return Constant(self._is(tx, other) == (symbol == "=="))
        # numbers equal numbers of other types, and tuples compare their items
        if type(self.value) not in _TEXTS or type(other.value) not in LITERAL_TYPES:
            break_on_changing_value(self.describe())
        return Constant(self._equals(tx, other.value) == (symbol == "=="))

    def _equals(self, tx: TraceContext, other: object) -> bool:
        # a text equals texts only, and the type is guarded
        if type(other) is not type(self.value):
            return False
        assert isinstance(other, str | bytes)
        same = self.value == other
        tx.guard(self, EqualTo(other) if same else NotEqualTo(other))
        return same

    def _is(self, tx: TraceContext, other: Constant) -> bool:
        if type(other.value) is not type(self.value):
            return False
        same = self.value is other.value
        tx.guard(self, Identical(other.value) if same else NotIdentical(other.value))
        return same

    def _is_one(self, tx: TraceContext, other: Constant) -> bool:
        """Whether two equal texts are the same object in this call; guarded."""
        # whether two existing texts are one object may differ from call to call
        if other.source is not None:
            break_on_changing_value(self.describe())
        same = self.value is other.value
        tx.guard(self, Identical(other.value) if same else NotIdentical(other.value))
        return same

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """`self is other`, guarded where the other is a known enum member or text of the same type."""
        if self is other:
            return True
        other = other.realize()
        if other.python_type is not self.python_type:
            return False
        if isinstance(self.value, enum.Enum) and isinstance(other, Constant):
            return self._is(tx, other)
        if type(self.value) in _TEXTS and isinstance(other, Constant):
            return self._equals(tx, other.value) and self._is_one(tx, other)
        return super().is_same(tx, other)


def may_stay_unspecialized(value: object) -> bool:
    """Whether the value may be made unspecialized: not for a type with one or two values."""
    return type(value) not in _SINGLETONS
