"""Functions of `math`, and `min` and `max`, of numbers that may differ from call to call.

Of known numbers they are folded (`callables.pure_rows`). Of others they are a formula, which Python computes in each call
(ADR 0011), or, of numbers that only the running graph knows, the operation that torch has for it.
"""

import math
from collections.abc import Callable, Sequence
from functools import reduce
from types import BuiltinFunctionType
from typing import Final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.guards.class_lookup import defines
from framesmith.variables.core import Constant, TraceContext, Tracker, fold
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import callable_name
from framesmith.variables.symbolic_numbers.computed_numbers import (
    GRAPH_FUNCTIONS,
    ComputedNumber,
    compute_by_formula,
)
from framesmith.variables.symbolic_numbers.symbolic import SymbolicNumber, compute

ROWS: Final = Rows()

# These ask the operand's own method; of a float it gives an int of any size.
_ROUNDING: Final[dict[object, str]] = {
    math.ceil: "__ceil__",
    math.floor: "__floor__",
    math.trunc: "__trunc__",
}
# These take containers, or give something else than one number.
_OTHER: Final = (math.dist, math.frexp, math.fsum, math.modf, math.prod, getattr(math, "sumprod", None))
_EXTREMES: Final[dict[str, tuple[Callable[..., object], Callable[..., object]]]] = {
    "min": (min, torch.sym_min),
    "max": (max, torch.sym_max),
}


def extreme_of(tx: TraceContext, name: str, items: Sequence[Tracker]) -> Tracker | None:
    """`min` or `max` of ints, or of floats, some of which may differ from call to call, without a decision; None for anything else."""
    items = [item.realize() for item in items]
    # Of ints and floats together the type of the result is a decision.
    types = {item.python_type for item in items}
    if not any(map(_is_number, items)) or types not in ({int}, {float}):
        return None
    if not all(_is_number(item) or isinstance(item, Constant) for item in items):
        return None
    function, symbolic = _EXTREMES[name]
    # torch's symbolic ints are exact, and stay symbolic in the graph. Of floats NaN and the sign of zero decide, which it does not know.
    if types == {int} and not any(isinstance(item, ComputedNumber) for item in items):
        return reduce(lambda best, item: compute(tx, symbolic, best, item), items)
    return compute_by_formula(tx, function, *items)


def _is_number(operand: Tracker) -> bool:
    return isinstance(operand, SymbolicNumber | ComputedNumber)


def _row(function: Callable[..., object]) -> None:
    @ROWS.call(function)
    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        if args and not kwargs and any(map(_is_number, args)):
            found = compute_by_formula(tx, function, *args)
            if found is not None:
                return found
            # There is no formula for a number that only the running graph knows.
            if len(args) == 1 and function in GRAPH_FUNCTIONS:
                return compute(tx, GRAPH_FUNCTIONS[function], args[0])
        return _fold(tx, function, args, kwargs)


def _rounding_row(function: Callable[..., object], method: str) -> None:
    @ROWS.call(function)
    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        if len(args) == 1 and not kwargs and _is_number(args[0]) and defines(args[0].python_type, method):
            return args[0].attribute(tx, method).call(tx, (), {})
        return _fold(tx, function, args, kwargs)


def _fold(
    tx: TraceContext, function: Callable[..., object], args: Sequence[Tracker], kwargs: dict[str, Tracker]
) -> Tracker:
    for operand in (*args, *kwargs.values()):
        if not operand.is_python_constant():
            raise GraphBreak(NATIVE_CALL, f"{callable_name(function)}({operand.describe()})")
    return fold(tx, function, args, kwargs)


for _function in vars(math).values():
    if isinstance(_function, BuiltinFunctionType) and _function not in _OTHER:
        if _function in _ROUNDING:
            _rounding_row(_function, _ROUNDING[_function])
        else:
            _row(_function)
