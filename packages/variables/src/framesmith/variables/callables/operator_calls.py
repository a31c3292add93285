"""Operators and subscripts as calls: a method of the user for an operand runs in its own frame.

A graph break inside `__add__` then leaves a frame to resume, as one inside any other function does.
"""

from typing import Final

from framesmith.guards.sources import Pinned
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.operations.binary import (
    FUNCTIONS,
    METHODS,
    UNARY_METHODS,
    ask_right,
    binary,
    inplace,
    reflects_first,
    unsupported_operands,
)
from framesmith.variables.polyfills import operators

ROWS: Final = Rows()

_OPERATE: Final = polyfill_function(operators.operate)
_REFLECTED: Final = {symbol: operators.reflected(symbol, f"__r{name}__") for symbol, name in METHODS.items()}
_DECLINED: Final = {
    symbol: operators.make_inplace_fallback(symbol, function) for symbol, function in FUNCTIONS.items()
}


def begin_binary(
    tx: TraceContext, symbol: str, left: Tracker, right: Tracker, in_place: bool
) -> Tracker | PendingCall:
    """`left <symbol> right`, or `left <symbol>= right`. A Python method of the left operand becomes a pending call."""
    left, right = left.realize(), right.realize()
    # an in-place method is asked first in any case, even before that of a subclass
    if in_place or not reflects_first(tx, symbol, left, right):
        method = left.operator_method(tx, symbol, in_place)
        if method is not None:
            rest = (_DECLINED if in_place else _REFLECTED)[symbol]
            # the polyfill asks the rest of the rule itself if the method returns NotImplemented
            return _OPERATE.bind(tx, (method, left, right, tx.wrap(rest, Pinned(rest, symbol))), {})
    return (inplace if in_place else binary)(tx, symbol, left, right)


def begin_subscript(tx: TraceContext, container: Tracker, key: Tracker) -> Tracker | PendingCall:
    """`container[key]`; a Python `__getitem__` becomes a pending call."""
    container, key = container.realize(), key.realize()
    # before the slot, which would run the method to its end, where a graph break cannot be resumed
    begun = container.begin_special(tx, "__getitem__", (key,))
    return container.subscript(tx, key) if begun is None else begun


def begin_unary(tx: TraceContext, symbol: str, operand: Tracker) -> Tracker | PendingCall:
    """`-operand`, `+operand` or `~operand`; a Python method becomes a pending call."""
    begun = operand.begin_special(tx, UNARY_METHODS[symbol], ())
    return operand.unary(tx, symbol) if begun is None else begun


def _register_reflected(symbol: str) -> None:
    @ROWS.call(_REFLECTED[symbol])
    def ask(tx: TraceContext, left: Tracker, right: Tracker) -> Tracker:
        # reached from the polyfill, after the left method has returned NotImplemented
        left, right = left.realize(), right.realize()
        result = ask_right(tx, symbol, left, right)
        if result is None:
            return raise_observed(tx, TypeError, unsupported_operands(symbol, left, right))
        return result


def _register_declined(symbol: str) -> None:
    @ROWS.call(_DECLINED[symbol])
    def go_on(tx: TraceContext, left: Tracker, right: Tracker) -> Tracker:
        return binary(tx, symbol, left.realize(), right.realize(), in_place=True)


for _symbol in METHODS:
    _register_reflected(_symbol)
    _register_declined(_symbol)
