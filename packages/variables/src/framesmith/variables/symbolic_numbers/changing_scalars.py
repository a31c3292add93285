"""Scalars of numpy that differ from call to call and are handed on to torch.

torch takes them for the equal Python number, so a graph takes that number, and `float(s)`, `int(s)` and `s.item()` are it. A comparison
is decided by a guard. Arithmetic, conversions and functions of numpy (`np.sqrt(s)`, `s.astype(t)`) are computed by numpy in each call,
and those that warn are a miss. Whatever else is done with a scalar (its texts, a key of a dict) needs the value, which is guarded then.
"""

import functools
import math
import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Final, final

from framesmith.guards import Guard, Reason, Source
from framesmith.guards.kinds import EqualTo, ShapeExpression, TypeIs
from framesmith.guards.sources import Computed
from framesmith.variables.core import Arguments, Constant, Keywords, TraceContext, Tracker, Writer
from framesmith.variables.core.base import PendingCall
from framesmith.variables.core.computable import Computable, Number
from framesmith.variables.core.folding import WARNING_TYPES, fold, from_python
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.graph_values import ARGUMENTS, graph_argument
from framesmith.variables.operations.binary import FUNCTIONS
from framesmith.variables.operations.compare import FUNCTIONS as COMPARISONS
from framesmith.variables.symbolic_numbers.computed_numbers import ComputedNumber
from framesmith.variables.symbolic_numbers.number_inputs import symbolic_input

ROWS: Final = Rows()
# Beyond it numpy compares an int with a float otherwise than Python does.
_EXACT: Final = 2**53
_CONVERSIONS: Final = ("item", "__float__", "__int__")
_METHODS: Final = ("__abs__", "astype")
_LARGE: Final = 20  # operations in a formula: numpy computes each in each call
#: Types whose values torch takes for the equal Python number, outside of containers.
SCALARS: Final = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float16", "float32", "float64",
)  # fmt: skip
_AS_PYTHON: Final = ("float64", "int64")
"""Types that numpy compares with a number of Python as Python does, which makes the number one of the type of others."""
Item = Callable[[object], object]
Operand = tuple[Source | Number, object, type | None]
"""Where the number is read, the operand itself, and the type of numpy that it is of."""
Strict = Callable[[], AbstractContextManager[object]]


@final
class ChangingScalar(Tracker):
    """A scalar of numpy whose type is guarded, and whose value is guarded once it is needed. `item` makes the Python number of it, which
    is also what is read at `place`. Without a source it was computed by so many operations."""

    def __init__(
        self, tx: TraceContext, value: object, source: Source | None, item: Item, place: Source, size: int = 1
    ) -> None:
        self._tx = tx
        self.value = value
        self.source: Source | None = source
        self.place = place
        self.size = size
        self.item = item(value)
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
        assert isinstance(self.item, int | float)
        return symbolic_input(self._tx, self.item, self.place) or Constant(self._fixed())

    def _fixed(self) -> object:
        if isinstance(self.place, Computed):
            assert isinstance(self.item, int | float)
            return ComputedNumber(self._tx, self.item, self.place).as_python_constant()
        self._tx.guard(self.place, EqualTo(self.item))
        return self.item

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
        guard = ShapeExpression(template, (self.place,))
        self._tx.guards.add(Guard.relation(guard, Reason("a decision on a scalar of numpy", None)))

    # -- operators ---------------------------------------------------------------------------------
    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """numpy's result; None (NotImplemented) beside what numpy leaves the operator to."""
        computed = _compute(tx, FUNCTIONS[symbol], self, other)
        known = _known(other) if computed is None else None
        return computed if known is None else fold(tx, FUNCTIONS[symbol], (self._constant(), known))

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """As `binary`, with the operands swapped."""
        computed = _compute(tx, FUNCTIONS[symbol], other, self)
        known = _known(other) if computed is None else None
        return computed if known is None else fold(tx, FUNCTIONS[symbol], (known, self._constant()))

    def unary(self, tx: TraceContext, symbol: str) -> Tracker:
        """numpy's result."""
        function = _UNARY.get(symbol)
        computed = None if function is None else _compute(tx, function, self)
        return self._constant().unary(tx, symbol) if computed is None else computed

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """numpy's answer; that of a comparison with a number of Python is guarded alone."""
        value = other.value if isinstance(other, Constant) else None
        if type(value) not in (int, float) or not self._is_compared_as_number(value):
            answer = _decide_comparison(tx, COMPARISONS[symbol], self, other)
            if answer is not None:
                return answer
            known = _known(other)
            return None if known is None else fold(tx, COMPARISONS[symbol], (self._constant(), known))
        result = COMPARISONS[symbol](self.value, value)
        limit = f" and abs({{0}}) < {_EXACT}" if isinstance(self.item, int) else ""
        self._decide(f"({{0}} {symbol} {value!r}) is {bool(result)}{limit}")
        return from_python(tx, result)

    def _is_compared_as_number(self, value: object) -> bool:
        """Whether Python's comparison of the equal numbers gives numpy's answer, as long as the scalar is within the limit."""
        if not isinstance(value, int | float) or not math.isfinite(value):
            return False
        if self.python_type.__name__ not in _AS_PYTHON:
            return False
        return all(abs(one) < _EXACT for one in (value, self.item) if isinstance(one, int))

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
        if name in _METHODS:
            return ScalarMethod(self, name)
        return self._constant().begin_attribute(tx, name)

    # -- after the graph ---------------------------------------------------------------------------
    def children(self) -> Iterator[Tracker]:
        """The number out of which a computed scalar is made again."""
        if self.source is None:
            yield self.number

    def reconstruct(self, writer: Writer) -> str:
        """The scalar itself, or a new one of the number."""
        if self.source is not None:
            return super().reconstruct(writer)
        return f"{writer.constant(self.python_type, self.python_type.__name__)}({writer.value(self.number)})"


_UNARY: Final[dict[str, Callable[..., object]]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
}


def _compute(tx: TraceContext, function: Callable[..., object], *operands: Tracker) -> Tracker | None:
    kind = next((one for one in map(_kind, operands) if one is not None), None)
    return (
        None if kind is None else compute_scalar(tx, function, operands, tx.registry[WARNING_TYPES][kind][0])
    )


def compute_scalar(
    tx: TraceContext, function: Callable[..., object], operands: Sequence[Tracker], strict: Strict
) -> Tracker | None:
    """What a function of numpy gives for numbers, one of which changes: computed in each call. None for other operands, where it gives
    no scalar, and for what warns or raises, which it does within `strict`."""
    found = _run(function, operands, strict)
    if found is None:
        return None
    place, value = found
    result: type = type(value)
    item = getattr(result, "item", None)
    if result.__name__ not in SCALARS or item is None:
        return None
    tx.guard(place, TypeIs(type(item(value))))
    return ChangingScalar(tx, value, None, item, place, _size(operands))


def _decide_comparison(
    tx: TraceContext, function: Callable[..., object], scalar: "ChangingScalar", other: Tracker
) -> Tracker | None:
    """numpy's answer, guarded; None as for `compute_scalar`."""
    found = _run(function, (scalar, other), tx.registry[WARNING_TYPES][scalar.python_type][0])
    if found is None:
        return None
    place, answer = found
    item = getattr(type(answer), "item", None)
    if item is None or type(item(answer)) is not bool:
        return None
    tx.guard(place, EqualTo(item(answer)))
    return from_python(tx, answer)


def _run(
    function: Callable[..., object], operands: Sequence[Tracker], strict: Strict
) -> tuple[Computed, object] | None:
    """The source that computes the Python number of the result in each call, and the result in this one."""
    parts = [part for one in operands if (part := _operand(one)) is not None]
    is_known = all(isinstance(one, Constant) for one in operands)
    if is_known or len(parts) < len(operands) or _size(operands) > _LARGE:
        return None
    try:
        with strict():
            value = function(*(value for _, value, _ in parts))
    except Exception:
        return None  # folding says what it does
    kinds = tuple(kind for _, _, kind in parts)
    name = getattr(function, "__name__", "arithmetic")
    result: type = type(value)
    compute = _of_scalars(function, kinds, result, strict)
    return Computed(compute, tuple(one for one, _, _ in parts), name), value


def _size(operands: Sequence[Tracker]) -> int:
    return 1 + sum(one.size for one in operands if isinstance(one, Computable | ChangingScalar))


def _kind(operand: Tracker) -> type | None:
    found = _operand(operand)
    return None if found is None else found[2]


def _operand(operand: Tracker) -> Operand | None:
    if isinstance(operand, ChangingScalar):
        return operand.place, operand.value, operand.python_type
    if isinstance(operand, Constant):
        cls = type(operand.value)
        item = getattr(cls, "item", None) if cls.__name__ in SCALARS else None
        number = operand.value if item is None else item(operand.value)
        if type(number) not in (int, float):
            return None
        assert isinstance(number, int | float)
        return number, operand.value, None if item is None else cls
    if (
        isinstance(operand, Computable)
        and operand.formula is not None
        and type(operand.number) in (int, float)
    ):
        return operand.formula, operand.number, None
    return None


@functools.cache
def _of_scalars(
    function: Callable[..., object],
    kinds: tuple[type | None, ...],
    result: type,
    strict: Strict,
) -> Callable[..., object]:
    """The operation on Python numbers, computed with scalars of numpy. It raises where that warns, or gives another type."""
    item: Callable[[object], object] = getattr(result, "item")  # noqa: B009  # unknown to typing

    def compute(*numbers: object) -> object:
        with strict():
            pairs = zip(kinds, numbers, strict=True)
            value = function(*(number if kind is None else kind(number) for kind, number in pairs))
        if type(value) is not result:
            raise TypeError(f"{type(value).__name__} is not {result.__name__}")
        return item(value)

    return compute


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


@functools.cache
def _conversion(kind: type) -> Callable[..., object]:
    def astype(scalar: object) -> object:
        return getattr(scalar, "astype")(kind)  # noqa: B009  # unknown to typing

    return astype


@final
class ScalarMethod(Tracker):
    """A bound method whose result numpy computes in each call: `scalar.astype`, `scalar.__abs__`."""

    source = None

    def __init__(self, scalar: ChangingScalar, name: str) -> None:
        self._scalar = scalar
        self._name = name

    @property
    def python_type(self) -> type:
        """That of a bound method in C."""
        return type(getattr(self._scalar.value, self._name))

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """A scalar that changes; or what the method of the value in this call gives."""
        computed = None if kwargs else self._compute(tx, [one.realize() for one in args])
        if computed is not None:
            return computed
        known = Constant(self._scalar.as_python_constant(), self._scalar.source)
        return known.attribute(tx, self._name).begin_call(tx, args, kwargs)

    def _compute(self, tx: TraceContext, args: Arguments) -> Tracker | None:
        if self._name == "__abs__":
            return None if args else _compute(tx, abs, self._scalar)
        known = args[0].as_python_constant() if len(args) == 1 and args[0].is_python_constant() else None
        kind = getattr(known, "type", known)  # that of a dtype
        return _compute(tx, _conversion(kind), self._scalar) if isinstance(kind, type) else None
