"""Floats that may differ from call to call, and numbers computed from them, which Python computes in each call.

An algebra of real numbers (sympy's, behind torch's symbolic numbers) knows neither NaN nor infinities, rounding, or
the sign of zero: there `v - v` is 0 and `v * 0` is 0. So nothing is simplified here. The value of the traced call is
computed by Python while tracing; for later calls there is a formula, a source that the guards and the entry evaluate
with the same functions. A graph takes the finished number as an input (ADR 0011).
"""

import math
import operator
from collections.abc import Callable, Hashable
from typing import Final, TypeAlias, final

import torch
from torch import fx

from framesmith.graph.python_numbers import numbers
from framesmith.guards import Guard, Reason, Source
from framesmith.guards.class_lookup import class_name
from framesmith.guards.kinds import EqualTo, ShapeExpression
from framesmith.guards.sources import CallResult, Computed, TensorSize
from framesmith.variables.core import Arguments, Constant, Keywords, TraceContext, Tracker, Writer, fold
from framesmith.variables.core.computable import Computable, Number
from framesmith.variables.core.constant import is_nan
from framesmith.variables.core.unspecialized import break_on_changing_value, is_computed_unspecialized
from framesmith.variables.graph_nodes.graph_values import (
    CONVERSIONS,
    GraphValue,
    NodeOrNumber,
    graph_argument,
)
from framesmith.variables.operations.binary import FUNCTIONS
from framesmith.variables.operations.compare import FUNCTIONS as COMPARISONS

Recipe: TypeAlias = tuple[Callable[..., object], tuple[Tracker, ...]]
_NUMBERS: Final = (int, float, bool)
# A larger formula is fixed to its value (ADR 0011): guards and entry would evaluate it in each call.
_LARGE: Final = 100  # operations in a formula
#: A symbolic int of torch is an int64. One bit is left, so that the sum of two of them is one too; a larger number is a
#: constant with a guard.
LARGEST_SYMBOLIC: Final = 2**62
_UNARY: Final[dict[str, Callable[..., object]]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
}
_SAFE: Final = frozenset({operator.add, operator.sub, operator.mul, operator.neg, operator.pos, abs})
# Of two ints: no guard may compute what takes for ever with a large one.
_EXPLOSIVE: Final = frozenset({operator.pow, operator.lshift})
_COMPARING: Final = frozenset(COMPARISONS.values())
_CONVERSIONS: Final[dict[str, Callable[..., object]]] = {
    "__int__": int,
    "__trunc__": math.trunc,
    "__floor__": math.floor,
    "__ceil__": math.ceil,
    "__abs__": abs,
    "__float__": float,
    "__round__": round,
}
# What a graph can compute by itself from symbolic ints.
_GRAPHED: Final[tuple[Callable[..., object], ...]] = (*FUNCTIONS.values(), operator.neg, operator.pos, abs)
GRAPH_FUNCTIONS: Final[dict[Callable[..., object], Callable[..., object]]] = {
    getattr(math, name): getattr(torch, f"_sym_{name}")
    for name in ("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "log2")
    if hasattr(torch, f"_sym_{name}")
}
"""Functions of `math` and those of torch that do the same with symbolic numbers."""
_IN_GRAPH: Final[dict[Callable[..., object], Callable[..., object]]] = dict(
    [*zip(_GRAPHED, _GRAPHED, strict=True), (float, torch.sym_float), *GRAPH_FUNCTIONS.items()]
)


_ROUNDING_DOWN: Final = (operator.floordiv, operator.mod)


def declines_order(symbol: str, other: Tracker) -> bool:
    """Whether comparing the order must be left to the other operand, which returns NotImplemented too: the TypeError
    then names both operands in their order."""
    return (
        symbol not in ("==", "!=")
        and isinstance(other, Constant)
        and type(other.value) in (str, bytes, complex)
    )


@final
class ComputedNumber(GraphValue):
    """A float, or an int or bool computed from floats. Invariant: reading `source` in the traced call gives `value`.

    `recipe`: how a graph computes a float from symbolic ints alone (`x.shape[0] / 2`).
    """

    def __init__(
        self, tx: TraceContext, value: Number, source: Source, size: int = 1, recipe: Recipe | None = None
    ) -> None:
        self._tx = tx
        tx.graph.has_floats = True
        self.value = value
        self.source: Source = source
        self.size = size
        self.recipe = recipe
        # A number computed from an unspecialized one is unspecialized too (ADR 0010).
        self._is_unspecialized = is_computed_unspecialized(tx, source)

    @property
    def formula(self) -> Source:
        """The source, which is its formula."""
        return self.source

    @property
    def number(self) -> Number:
        """The value in the traced call."""
        return self.value

    @property
    def is_run_time_number(self) -> bool:
        """True: it may differ from call to call."""
        return True

    @property
    def python_type(self) -> type:
        """`float`, `int` or `bool`."""
        return type(self.value)

    # -- decisions ---------------------------------------------------------------------------------
    def is_python_constant(self) -> bool:
        """Whether the trace may specialize on it."""
        return not self._is_unspecialized

    def as_python_constant(self) -> Number:
        """The value in this call, guarded from now on, with the sign
        of zero and NaN; breaks the graph if it is unspecialized."""
        # ADR 0010: reading it would need an entry for each value.
        if self._is_unspecialized:
            break_on_changing_value(self.describe())
        if isinstance(self.source, Computed):
            # the text of a NaN lacks its sign
            is_minus = self.value != self.value and math.copysign(1.0, self.value) < 0
            shown = f"-{-self.value!r}" if is_minus else repr(self.value)
            self._decide(f"same({{0}}, {shown})", "a computed number that has to be known")
        else:
            self._tx.guard(self.source, EqualTo(self.value))
        return self.value

    def _decide(self, template: str, reason: str) -> None:
        self._tx.guards.add(Guard.relation(ShapeExpression(template, (self.source,)), Reason(reason, None)))

    def truth(self, tx: TraceContext) -> bool:
        """The truth of the value in this call; guarded."""
        answer = bool(self.value)
        self._decide(f"bool({{0}}) is {answer}", "a decision on a computed number")
        return answer

    # -- operators ---------------------------------------------------------------------------------
    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """A number with a formula; None (NotImplemented) for operands that are no real numbers."""
        return self._combine(tx, FUNCTIONS[symbol], other, swap=False)

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """As `binary`, with the operands swapped."""
        return self._combine(tx, FUNCTIONS[symbol], other, swap=True)

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """A bool with a formula, without a guard; None (NotImplemented)
        where the other operand has no order with numbers."""
        if declines_order(symbol, other):
            return None
        return self._combine(tx, COMPARISONS[symbol], other, swap=False)

    def _combine(
        self, tx: TraceContext, function: Callable[..., object], other: Tracker, *, swap: bool
    ) -> Tracker | None:
        pair = (other, self) if swap else (self, other)
        if isinstance(other, Computable) or (isinstance(other, Constant) and type(other.value) in _NUMBERS):
            # The number of a graph has no formula: the operation is folded, which needs the value.
            return compute_by_formula(tx, function, *pair) or fold(tx, function, pair)
        # Not a number that is modelled: its own slot is asked next.
        if not isinstance(other, Constant):
            return None
        # Python knows what a float does with these (`v * "a"` is a TypeError), so the operation is run on the value.
        is_value = isinstance(other.value, str | bytes | int | float | complex)
        return fold(tx, function, pair) if is_value or type(other.value) in tx.registry[CONVERSIONS] else None

    def unary(self, tx: TraceContext, symbol: str) -> Tracker:
        """A number with a formula."""
        return compute_by_formula(tx, _UNARY[symbol], self) or fold(tx, _UNARY[symbol], (self,))

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """A conversion with a formula, or another attribute of the value in this call, which is then guarded."""
        function = _CONVERSIONS.get(name)
        if function is None:
            return Constant(self.as_python_constant()).attribute(tx, name)
        return ComputedConversion(self, function)

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """Whether it is the same tracker or of another type; else
        breaks the graph: Python makes a new object in each call."""
        if self is other:
            return True
        # Objects of two types are never one.
        return other.realize().python_type is self.python_type and bool(self.unsupported("an identity test"))

    def hash_key(self, tx: TraceContext) -> Hashable:
        """The key of the value, which is guarded: a dict or set needs it."""
        key = Constant(self.as_python_constant())
        return self.unsupported("hashing a NaN") if is_nan(key.value) else key.hash_key(tx)

    # -- in a graph --------------------------------------------------------------------------------
    def graph_node(self, tx: TraceContext) -> NodeOrNumber:
        """An input of the graph, or a node that computes it from
        symbolic ints; the value, guarded, where neither is possible."""
        value = self.value
        if self.recipe is not None:
            function, operands = self.recipe
            return tx.graph.call(
                "call_function", function, [graph_argument(tx, operand) for operand in operands]
            )
        if type(value) is float and _fits_graph(tx, value):
            # torch's symbolic floats are finite, and a decision on one cannot see the sign of zero
            self._decide("isfinite({0})", "a number of the graph is finite")
            return tx.graph.number_input(self.source, value, is_unspecialized=self._is_unspecialized)
        if type(value) is int and abs(value) < LARGEST_SYMBOLIC:
            return tx.graph.number_input(self.source, value, is_unspecialized=self._is_unspecialized)
        return self.as_python_constant()

    def output_node(self) -> NodeOrNumber:
        """As `graph_node`; of a float that such a node cannot be, the tensor."""
        tx = self._tx
        return self.tensor_node(tx) if self.is_tensor_in_graph(tx) else self.graph_node(tx)

    def is_tensor_in_graph(self, tx: TraceContext) -> bool:
        """Whether the graph takes it as a tensor: a float, for a backend that would compute with a number by sympy's rules."""
        return type(self.value) is float and self.recipe is None and not tx.graph.runs_as_captured

    def tensor_node(self, tx: TraceContext) -> fx.Node:
        """The input of the graph that is a tensor of the number, of Python's precision."""
        tx.graph.keeps_numbers = True
        with tx.graph.pause_recording():
            tensor = numbers.as_tensor(self.value)
        node = tx.graph.tensor_input(CallResult(self.source, numbers.as_tensor), tensor)
        numbers.mark_number(node)
        return node

    def reconstruct(self, writer: Writer) -> str:
        """The output of the graph; the number in it, where that is a tensor."""
        expression = super().reconstruct(writer)
        return f"{expression}.item()" if self.is_tensor_in_graph(self._tx) else expression

    def describe(self) -> str:
        """The type and the formula, for messages."""
        return f"{class_name(self.python_type)} {self.source.text()}"


def compute_by_formula(
    tx: TraceContext, function: Callable[..., object], *operands: Tracker
) -> Tracker | None:
    """`function(*operands)` as a formula; None where an operand is known in the running graph only.

    An exception for the values of this call is raised; no number, or too large a formula, is specialized.
    """
    of_ints = all(operand.python_type is not float for operand in operands)
    # An int that was computed from a size may be large: `2 ** n` in a guard.
    if function in _EXPLOSIVE and of_ints and not isinstance(operands[1], Constant):
        return fold(tx, function, operands)
    numbers = [_number(operand) for operand in operands]
    formulas = [_formula(operand) for operand in operands]
    if any(formula is None for formula in formulas):
        return None
    size = 1 + sum(operand.size for operand in operands if isinstance(operand, Computable))
    try:
        value = function(*numbers)
    # Folding runs it once more, and raises the exception in the user's program with its guards.
    except Exception:
        return fold(tx, function, operands)
    if type(value) not in _NUMBERS or size > _LARGE:
        return fold(tx, function, operands)
    assert isinstance(value, int | float)
    name = getattr(function, "__name__", "number")
    source = Computed(function, tuple(formula for formula in formulas if formula is not None), name)
    # for later values the function may return another type, or raise
    if not _is_total(function, operands):
        kind = type(value).__name__
        guard = ShapeExpression(f"type({{0}}) is {kind}", (source,))
        tx.guards.add(Guard.relation(guard, Reason(f"{name}() gives a number of type {kind}", None)))
    return ComputedNumber(tx, value, source, size, _recipe(function, operands, value))


def _fits_graph(tx: TraceContext, value: float) -> bool:
    # `fixes_floats`: an operation that needs the number itself is being recorded again.
    return tx.graph.runs_as_captured and not tx.graph.fixes_floats and math.isfinite(value) and value != 0.0


def _number(operand: Tracker) -> object:
    if isinstance(operand, Computable):
        return operand.number if operand.formula is not None else None
    return operand.value if isinstance(operand, Constant) else None


def _formula(operand: Tracker) -> Source | Number | None:
    if isinstance(operand, Computable):
        return operand.formula
    if isinstance(operand, Constant) and type(operand.value) in _NUMBERS:
        assert isinstance(operand.value, int | float)
        return operand.value
    return None


def _is_total(function: Callable[..., object], operands: tuple[Tracker, ...]) -> bool:
    """Whether it returns a number of one type, without an exception, for all values that the operands may have."""
    # Comparisons of numbers give a bool, also with NaN.
    if function in _COMPARING:
        return True
    if not all(_is_tame(operand) for operand in operands):
        return False
    if function in _SAFE:
        return any(operand.python_type is float for operand in operands)
    divisor = operands[-1]
    # Only a constant divisor is known not to be 0 in later calls.
    return function is operator.truediv and isinstance(divisor, Constant) and divisor.value != 0


def _is_tame(operand: Tracker) -> bool:
    """Whether it is a float, a size, or an int constant below 2**63: no int that is too large for a float."""
    if isinstance(operand, Constant) and isinstance(operand.value, int):
        return abs(operand.value) < 2**63
    return operand.python_type is float or isinstance(_formula(operand), TensorSize)


def _recipe(function: Callable[..., object], operands: tuple[Tracker, ...], value: Number) -> Recipe | None:
    """How a graph computes the float from symbolic ints and constants alone; None where it cannot."""
    in_graph = _IN_GRAPH.get(function)
    # sympy rounds the quotient of floats before it rounds down: `39 // 0.1` is another number there
    # and it loses the sign of a zero: `-0.0 * k`
    if in_graph is None or function in _ROUNDING_DOWN or type(value) is not float or value == 0:
        return None
    for operand in operands:
        # A float of the program is an input by itself: the finished number is handed over (ADR 0011).
        if isinstance(operand, ComputedNumber) and operand.recipe is None:
            return None
    return in_graph, operands


@final
class ComputedConversion(Tracker):
    """A bound conversion method, such as `number.__int__`."""

    def __init__(self, number: ComputedNumber, function: Callable[..., object]) -> None:
        self.number = number
        self.function = function

    @property
    def python_type(self) -> type:
        """`method-wrapper`."""
        return type((1).__int__)

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker:
        """The converted number, with a formula."""
        given = [argument.realize() for argument in args]
        if kwargs or (given and self.function is not round):
            return self.unsupported("a call with arguments")
        # `float(v)` of a float is `v` itself.
        if self.function is self.number.python_type:
            return self.number
        operands = (self.number, *given)
        return compute_by_formula(tx, self.function, *operands) or fold(tx, self.function, operands)
