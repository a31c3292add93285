"""Numbers that may differ from call to call: sizes, and ints and floats that the policy makes dynamic.

Torch's symbolic numbers do the arithmetic. Nodes are written when a number becomes an operand of a tensor operation
or is needed after the graph, with the functions that the program used. Every decision (`if n > 2`, `range(n)`) adds a
guard to the ShapeEnv. Floats that Python computes are in `symbolic_numbers.computed_numbers`.
"""

import math
import operator
from collections.abc import Callable, Hashable, Iterator
from typing import Final, TypeAlias, final

import torch
from torch import fx

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNBACKED_GUARD, UNSUPPORTED_VALUE
from framesmith.graph.nodes.node_lines import explain_unknown
from framesmith.graph.options import count_terms, is_fixed
from framesmith.guards import Source
from framesmith.guards.class_lookup import class_name
from framesmith.guards.sources import Local
from framesmith.variables.core import (
    Arguments,
    Constant,
    Keywords,
    TraceContext,
    Tracker,
    Writer,
    fold,
)
from framesmith.variables.core.constant import is_nan
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.unspecialized import break_on_changing_value
from framesmith.variables.graph_nodes.graph_values import CONVERSIONS, GraphValue, NodeOrNumber
from framesmith.variables.graph_nodes.results import RESULTS, evaluate
from framesmith.variables.operations.binary import FUNCTIONS
from framesmith.variables.operations.compare import FUNCTIONS as COMPARISONS
from framesmith.variables.symbolic_numbers.computed_numbers import (
    ComputedNumber,
    compute_by_formula,
    declines_order,
)

ROWS: Final = Rows()

Symbolic: TypeAlias = torch.SymInt | torch.SymFloat | torch.SymBool
_PYTHON_TYPES: Final[dict[type, type]] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
_UNARY: Final[dict[str, Callable[..., object]]] = {
    "-": operator.neg,
    "~": operator.invert,
    "+": operator.pos,
}
Recipe: TypeAlias = tuple[Callable[..., object], tuple[object, ...]]
"""The function that computed a number, and its operands: trackers of numbers, or plain numbers."""
_BITS = frozenset({"<<", ">>", "&", "|", "^"})
"""Operators on the bits of ints, which Python computes: torch's expressions would take them for functions without rules."""
_LARGE: Final = 100  # terms of an expression
_DIVISIONS = frozenset({"/", "//", "%"})


@final
class SymbolicNumber(GraphValue):
    """An int, float or bool whose value is an expression over symbols. Invariant: the expression is no constant."""

    def __init__(
        self,
        tx: TraceContext,
        value: Symbolic,
        source: Source | None = None,
        recipe: Recipe | None = None,
        node: fx.Node | None = None,
    ) -> None:
        self._graph = tx.graph
        self.value = value
        self.source = source
        self._recipe = recipe
        self._formula: Source | None = source
        if source is not None and not isinstance([source, *source.ancestors()][-1], Local):
            tx.changes.has_state_numbers = True
        self._is_unspecialized = self._depends_on_unspecialized(tx)
        self._size: int = 1 + sum(item._size for item in self._operands())
        self._node = node

    @property
    def is_run_time_number(self) -> bool:
        """True: it may differ from call to call."""
        return True

    @property
    def python_type(self) -> type:
        """`int`, `float` or `bool`."""
        return _PYTHON_TYPES[type(self.value)]

    @property
    def formula(self) -> Source | None:
        """The source by which Python computes it; None for a number that is known in the running graph only."""
        # Found at the first question: most numbers are never asked for one.
        if self._formula is None and not isinstance(self.value, torch.SymBool):
            self._formula = self._graph.numbers.source_of(self.value)
        return self._formula

    @property
    def size(self) -> int:
        """The number of operations in its expression."""
        return self._size

    @property
    def number(self) -> int | float | bool | None:
        """The value in this call; None if only the running graph knows it. Reading it adds no guard."""
        hint = self.value.node.hint if self.value.node.has_hint() else None
        assert hint is None or isinstance(hint, int | float)
        return hint

    def graph_node(self, tx: TraceContext) -> NodeOrNumber:
        """The node that computes it, written when needed; the number itself once the trace has specialized it."""
        return self.output_node()

    def output_node(self) -> NodeOrNumber:
        """As `graph_node`. A node that a roll-back dropped, or that is in another graph, is written again."""
        node = self._node
        if node is not None and not node._erased and node.graph is self._graph.graph:
            return node
        written = self._write()
        if isinstance(written, fx.Node):
            self._node = written
        return written

    def _write(self) -> NodeOrNumber:
        if self._recipe is None:
            return self._graph.symbolic(self.value)
        function, operands = self._recipe
        arguments = [item.output_node() if isinstance(item, SymbolicNumber) else item for item in operands]
        return self._graph.call("call_function", function, arguments)

    def _depends_on_unspecialized(self, tx: TraceContext) -> bool:
        """Whether the trace must not specialize on it, since it is computed from an unspecialized number (ADR 0010)."""
        if self.source is not None:
            return tx.wrap.policy.is_unspecialized(self.source)
        return any(item._is_unspecialized for item in self._operands())

    def _operands(self) -> Iterator["SymbolicNumber"]:
        operands = () if self._recipe is None else self._recipe[1]
        return (item for item in operands if isinstance(item, SymbolicNumber))

    def is_large(self) -> bool:
        """Whether its expression is too large to be kept symbolic:
        one in which a number occurs twice doubles in size."""
        # The sum over the operands counts what torch has simplified away; counting terms is exact, but slow.
        if self._size > _LARGE:
            self._size = count_terms(self.value, _LARGE + 1)
        return self._size > _LARGE

    def is_python_constant(self) -> bool:
        """Whether the trace may specialize on it, and its value in this call is known."""
        return bool(self.value.node.has_hint()) and not self._is_unspecialized

    def as_python_constant(self) -> object:
        """The value in this call, guarded from now on; breaks the graph if it is unspecialized."""
        # Once a decision of the trace has fixed it, its value is guarded anyway.
        if self._is_unspecialized and not is_fixed(self.value):
            break_on_changing_value(self.describe())
        where = "" if self.value.node.has_hint() else self._explain_unknown()
        return evaluate(f"a number that has to be known{where}", self.python_type, self.value)

    def truth(self, tx: TraceContext) -> bool | Tracker:
        """The truth of the value in this call, guarded; the number itself where only the running graph knows it."""
        try:
            return bool(evaluate("the truth of a number", bool, self.value))
        except GraphBreak as reason:
            if reason.kind is not UNBACKED_GUARD:
                raise
            return self

    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Symbolic arithmetic; None (NotImplemented) for operands that are no real numbers."""
        return self._combine(tx, symbol, FUNCTIONS, other, swap=False)

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """As `binary`, with the operands swapped."""
        return self._combine(tx, symbol, FUNCTIONS, other, swap=True)

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """A symbolic bool, without a guard; None (NotImplemented) where the other operand has no order with numbers."""
        if declines_order(symbol, other):
            return None
        return self._combine(tx, symbol, COMPARISONS, other, swap=False)

    def _combine(
        self,
        tx: TraceContext,
        symbol: str,
        functions: dict[str, Callable[[object, object], object]],
        other: Tracker,
        *,
        swap: bool,
    ) -> Tracker | None:
        operand: object
        # Floats are computed by Python (ADR 0011), so the result of both is a formula.
        if isinstance(other, ComputedNumber):
            return compute_by_formula(
                tx, functions[symbol], *((other, self) if swap else (self, other))
            ) or self._folded(tx, functions[symbol], other, swap)
        # numpy's scalars compute by their own rules, with a real number beside them.
        if isinstance(other, Constant) and type(other.value) in tx.registry[CONVERSIONS]:
            return self._folded(tx, functions[symbol], other, swap)
        if isinstance(other, SymbolicNumber) or (
            isinstance(other, Constant) and type(other.value) in (int, float, bool)
        ):
            operand = other.value
        elif isinstance(other, Constant) and isinstance(other.value, str | bytes | int | float | complex):
            return self._folded(tx, functions[symbol], other, swap)
        else:
            return None
        if symbol == "@" or bool in (self.python_type, type(operand)) or isinstance(operand, torch.SymBool):
            return self._folded(tx, functions[symbol], other, swap)
        pair = (other, self) if swap else (self, other)
        if symbol in _BITS:
            return compute_by_formula(tx, functions[symbol], *pair) or self._folded(
                tx, functions[symbol], other, swap
            )
        # As above: a quotient, or an operation with a float, would be one of sympy's real numbers.
        if not _is_of_ints(symbol, *pair):
            result = compute_by_formula(tx, functions[symbol], *pair)
            if result is not None:
                return result
        # Folding raises the ZeroDivisionError.
        if symbol in _DIVISIONS and is_zero(pair[1]):
            return self._folded(tx, functions[symbol], other, swap)
        return compute(tx, functions[symbol], *pair)

    def _folded(
        self, tx: TraceContext, function: Callable[[object, object], object], other: Tracker, swap: bool
    ) -> Tracker:
        """The operation on the values of this call, which are guarded."""
        pair = (specialize(tx, other), specialize(tx, self))
        return fold(tx, function, pair if swap else pair[::-1])

    def unary(self, tx: TraceContext, symbol: str) -> Tracker:
        """Symbolic negation; Python computes `~`, a bool is specialized."""
        if symbol == "~" and self.python_type is int:
            result = compute_by_formula(tx, operator.invert, self)
            if result is not None:
                return result
        if symbol == "~" or self.python_type is bool:
            return fold(tx, _UNARY[symbol], (specialize(tx, self),))
        return compute(tx, _UNARY[symbol], self)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """A conversion that stays symbolic, or another attribute of the value in this call, which is then guarded."""
        function = _CONVERSIONS.get((self.python_type, name))
        return specialize(tx, self).attribute(tx, name) if function is None else Conversion(self, function)

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """Whether it is the same tracker or of another type; else breaks
        the graph, as CPython shares the objects of small ints only."""
        if self is other:
            return True
        return other.realize().python_type is self.python_type and bool(self.unsupported("an identity test"))

    def hash_key(self, tx: TraceContext) -> Hashable:
        """The key of the value, which is guarded: a dict or set needs it."""
        # It may be an address: the guard is one of the shapes, where `replanning` does not see the number.
        tx.changes.has_number_keys = True
        key = specialize(tx, self)
        return self.unsupported("hashing a NaN") if is_nan(key.value) else key.hash_key(tx)

    def reconstruct(self, writer: Writer) -> str:
        """An output of the graph, or the number once it is fixed."""
        return repr(self.as_python_constant()) if is_fixed(self.value) else super().reconstruct(writer)

    def describe(self) -> str:
        """The type and the expression, for messages, and where its unknown numbers come from."""
        return f"{class_name(self.python_type)} {self.value}{self._explain_unknown()}"

    def _explain_unknown(self) -> str:
        origins = explain_unknown(self._graph.graph, self.value.node.expr.free_symbols)
        origins += self._graph.numbers.explain_marked(self.value)
        return f" ({', '.join(origins)})" if origins else ""


def is_zero(divisor: Tracker) -> bool:
    """Whether a division raises ZeroDivisionError, which a symbolic expression never does; guarded."""
    value = divisor.value if isinstance(divisor, SymbolicNumber) else divisor.as_python_constant()
    return bool(evaluate("whether a divisor is zero", bool, value == 0))


def _is_of_ints(symbol: str, left: Tracker, right: Tracker) -> bool:
    """Whether the result is an int, or a comparison of ints, which torch's symbolic numbers compute exactly."""
    if symbol == "/" or float in (left.python_type, right.python_type):
        return False
    if symbol != "**":
        return True
    # A negative exponent gives a float.
    return isinstance(right, Constant) and isinstance(right.value, int) and right.value >= 0


def _identity(value: object) -> object:
    return value


_CONVERSIONS: Final[dict[tuple[type, str], Callable[..., object]]] = {
    (int, "__int__"): _identity,
    (int, "__trunc__"): _identity,
    (int, "__floor__"): _identity,
    (int, "__ceil__"): _identity,
    (int, "__abs__"): abs,
    (int, "__float__"): torch.sym_float,
    (float, "__float__"): _identity,
    (float, "__abs__"): abs,
    (float, "__int__"): torch.sym_int,
    (float, "__trunc__"): torch.sym_int,
    (float, "__floor__"): math.floor,
    (float, "__ceil__"): math.ceil,
    (float, "__round__"): round,
}


@final
class Conversion(Tracker):
    """A bound conversion method, such as `number.__int__`."""

    def __init__(self, number: SymbolicNumber, function: Callable[..., object]) -> None:
        self.number = number
        self.function = function

    @property
    def python_type(self) -> type:
        """`method-wrapper`."""
        return type((1).__int__)

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker:
        """The converted number; symbolic."""
        if kwargs or (args and self.function is not round):
            return self.unsupported("a call with arguments")
        if self.function is round:
            operands = (self.number, *(argument.realize() for argument in args))
            return compute_by_formula(tx, round, *operands) or compute(tx, round, *operands)
        if self.function is _identity:
            return self.number
        if self.function is torch.sym_float:
            # A number that only the running graph knows has no formula; it keeps torch's arithmetic.
            return compute_by_formula(tx, float, self.number) or compute(tx, self.function, self.number)
        return compute(tx, self.function, self.number)


@ROWS.entry(RESULTS, torch.SymInt, torch.SymFloat, torch.SymBool)
def _symbolic_result(tx: TraceContext, node: fx.Node | None, value: object) -> Tracker:
    return number(tx, value, node=node)


def number(
    tx: TraceContext,
    value: object,
    source: Source | None = None,
    recipe: Recipe | None = None,
    node: fx.Node | None = None,
) -> Tracker:
    """The tracker of a number: a `SymbolicNumber`, or a `Constant` if it is plain or fixed. `node` computes it."""
    if not isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return Constant(value)
    # A symbol that a decision has fixed is a constant, as the class's invariant says.
    if is_fixed(value):
        return Constant(_PYTHON_TYPES[type(value)](value))
    return SymbolicNumber(tx, value, source, recipe, node)


def compute(tx: TraceContext, function: Callable[..., object], *operands: Tracker) -> Tracker:
    """`function(*operands)` for a function that torch's symbolic
    numbers support. Operands with large expressions are specialized."""
    if any(isinstance(item, SymbolicNumber) and item.is_large() for item in operands):
        return fold(tx, function, tuple(specialize(tx, item) for item in operands))
    # Trackers are kept, not nodes: an operand is written when the number itself is needed.
    held = tuple(item if isinstance(item, SymbolicNumber) else item.as_python_constant() for item in operands)
    values = [item.value if isinstance(item, SymbolicNumber) else item for item in held]
    name = getattr(function, "__name__", "arithmetic")
    result = evaluate(name, function, *values)
    # sympy simplifies by rules of real numbers (`v - v` is 0), which are wrong for NaN and infinities (ADR 0011).
    if any(type(value) is torch.SymFloat for value in values) and is_fixed(result):
        raise GraphBreak(UNSUPPORTED_VALUE, f"{name}() of a float that only the running program knows")
    return number(tx, result, None, (function, held))


def specialize(tx: TraceContext, tracker: Tracker) -> Constant:
    """The number as a constant, where Python needs a real one; guarded by the ShapeEnv."""
    tracker = tracker.realize()
    return tracker if isinstance(tracker, Constant) else Constant(tracker.as_python_constant())


def _register_row(function: Callable[..., object]) -> None:
    def row_function(tx: TraceContext, *args: Tracker) -> Tracker:
        return compute(tx, function, *args)

    ROWS.call(function)(row_function)


for _function in (
    torch.sym_int,
    torch.sym_float,
    torch.sym_not,
    torch.sym_max,
    torch.sym_min,
    torch.sym_sqrt,
    torch.sym_ite,
):
    _register_row(_function)
