"""Scalars of numpy that differ from call to call: a float64 or an int64 that is handed on to torch.

torch takes them for the equal Python number, so a graph takes that number, and `float(s)`, `int(s)` and `s.item()` are it. A comparison
is decided by a guard. Whatever else is done with a scalar (numpy's arithmetic, its texts, a key of a dict) needs the value, which is
guarded then.
"""

import math
from collections.abc import Callable, Hashable
from typing import Final, final

from framesmith.guards import Guard, Reason, Source
from framesmith.guards.kinds import EqualTo, ShapeExpression
from framesmith.guards.sources import CallResult
from framesmith.variables.core import Arguments, Constant, Keywords, TraceContext, Tracker
from framesmith.variables.core.base import PendingCall
from framesmith.variables.core.computable import Computable
from framesmith.variables.core.folding import fold, from_python
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.graph_values import ARGUMENTS, graph_argument
from framesmith.variables.operations.binary import FUNCTIONS
from framesmith.variables.operations.compare import FUNCTIONS as COMPARISONS
from framesmith.variables.symbolic_numbers.number_inputs import symbolic_input

ROWS: Final = Rows()
# Beyond it numpy compares an int with a float otherwise than Python does.
_EXACT: Final = 2**53
_CONVERSIONS: Final = ("item", "__float__", "__int__")
Item = Callable[[object], object]


@final
class ChangingScalar(Tracker):
    """A scalar of numpy whose type is guarded, and whose value is guarded once it is needed. `item` makes the Python number of it."""

    def __init__(self, tx: TraceContext, value: object, source: Source, item: Item) -> None:
        self._tx = tx
        self.value = value
        self.source: Source = source
        self._place = CallResult(source, item)
        self._item = item(value)
        self._number: Tracker | None = None

    @property
    def python_type(self) -> type:
        """The exact type, which is guarded."""
        return type(self.value)

    @property
    def number(self) -> Tracker:
        """The equal Python number, which differs from call to call too."""
        if self._number is None:
            self._number = self._make_number()
        return self._number

    def _make_number(self) -> Tracker:
        assert isinstance(self._item, int | float)
        return symbolic_input(self._tx, self._item, self._place) or Constant(self._fixed())

    def _fixed(self) -> object:
        self._tx.guard(self._place, EqualTo(self._item))
        return self._item

    # -- its value ---------------------------------------------------------------------------------
    def is_python_constant(self) -> bool:
        """True: the trace may specialize on it."""
        return True

    def as_python_constant(self) -> object:
        """The scalar, whose value is guarded from now on."""
        self._fixed()
        return self.value

    def _constant(self) -> Constant:
        return Constant(self.as_python_constant(), self.source)

    def truth(self, tx: TraceContext) -> bool:
        """The truth of the value; guarded."""
        answer = bool(self.value)
        self._decide(f"bool({{0}}) is {answer}")
        return answer

    def _decide(self, template: str) -> None:
        guard = ShapeExpression(template, (self._place,))
        self._tx.guards.add(Guard.relation(guard, Reason("a decision on a scalar of numpy", None)))

    # -- operators ---------------------------------------------------------------------------------
    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """numpy's result; None (NotImplemented) beside what numpy leaves the operator to."""
        known = _known(other)
        return None if known is None else fold(tx, FUNCTIONS[symbol], (self._constant(), known))

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """As `binary`, with the operands swapped."""
        known = _known(other)
        return None if known is None else fold(tx, FUNCTIONS[symbol], (known, self._constant()))

    def unary(self, tx: TraceContext, symbol: str) -> Tracker:
        """numpy's result."""
        return self._constant().unary(tx, symbol)

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """numpy's answer; that of a comparison with a number of Python is guarded alone."""
        value = other.value if isinstance(other, Constant) else None
        if type(value) not in (int, float) or not self._is_compared_as_number(value):
            known = _known(other)
            return None if known is None else fold(tx, COMPARISONS[symbol], (self._constant(), known))
        result = COMPARISONS[symbol](self.value, value)
        limit = f" and abs({{0}}) < {_EXACT}" if isinstance(self._item, int) else ""
        self._decide(f"({{0}} {symbol} {value!r}) is {bool(result)}{limit}")
        return from_python(tx, result)

    def _is_compared_as_number(self, value: object) -> bool:
        """Whether Python's comparison of the equal numbers gives numpy's answer, as long as the scalar is within the limit."""
        if not isinstance(value, int | float) or not math.isfinite(value):
            return False
        return all(abs(one) < _EXACT for one in (value, self._item) if isinstance(one, int))

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """Whether it is the same tracker or of another type; else breaks the graph."""
        if self is other:
            return True
        return other.realize().python_type is self.python_type and bool(self.unsupported("an identity test"))

    def hash_key(self, tx: TraceContext) -> Hashable:
        """The key of the value, which is guarded."""
        return self._constant().hash_key(tx)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker | PendingCall:
        """A conversion to a number of Python, or another attribute of the value in this call."""
        if name in _CONVERSIONS and hasattr(self.value, name):
            return ScalarConversion(self, name)
        return self._constant().begin_attribute(tx, name)


def _known(operand: Tracker) -> Constant | None:
    """The value of a constant or a number, guarded; None for containers and what only the running graph knows."""
    if isinstance(operand, Constant):
        return operand
    if isinstance(operand, ChangingScalar | Computable) and operand.is_python_constant():
        return Constant(operand.as_python_constant())
    return None


@ROWS.entry(ARGUMENTS, ChangingScalar)
def as_argument(tx: TraceContext, scalar: Tracker) -> object:
    """As the argument of a node: the Python number."""
    assert isinstance(scalar, ChangingScalar)
    return graph_argument(tx, scalar.number)


def as_number(value: Tracker) -> Tracker:
    """The Python number for a changing scalar, as torch takes it; any other value as it is."""
    value = value.realize()
    return value.number if isinstance(value, ChangingScalar) else value


@final
class ScalarConversion(Tracker):
    """A bound conversion, such as `scalar.item`."""

    source = None

    def __init__(self, scalar: ChangingScalar, name: str) -> None:
        self._scalar = scalar
        self._name = name

    @property
    def python_type(self) -> type:
        """That of a bound method in C."""
        return type(getattr(self._scalar.value, self._name))

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """The Python number, or the int or float that is made of it."""
        if args or kwargs:
            return self.unsupported("a call with arguments")
        found = self._scalar.number
        wanted = {"__float__": float, "__int__": int}.get(self._name, found.python_type)
        if found.python_type is wanted:
            return found
        return found.attribute(tx, self._name).begin_call(tx, (), {})
