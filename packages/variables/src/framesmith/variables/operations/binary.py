"""`a + b`, `a += b` and friends: the order in which CPython asks the operands.

Source of the rule: Python data model, "Emulating numeric types"; CPython Objects/abstract.c.
"""

import operator
from collections import deque
from collections.abc import Callable
from typing import Final

from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.folding import fold, foldable_operands
from framesmith.variables.core.raising import raise_observed

FUNCTIONS: Final[dict[str, Callable[[object, object], object]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "@": operator.matmul,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "^": operator.xor,
    "|": operator.or_,
}
INPLACE_FUNCTIONS: Final[dict[str, Callable[[object, object], object]]] = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "%": operator.imod,
    "@": operator.imatmul,
    "**": operator.ipow,
    "<<": operator.ilshift,
    ">>": operator.irshift,
    "&": operator.iand,
    "^": operator.ixor,
    "|": operator.ior,
}
METHODS: Final[dict[str, str]] = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "@": "matmul",
    "**": "pow",
    "<<": "lshift",
    ">>": "rshift",
    "&": "and",
    "^": "xor",
    "|": "or",
}

UNARY_METHODS = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}

CONCATENATED = (list, tuple, str, bytes, deque)


def binary(tx: TraceContext, symbol: str, left: Tracker, right: Tracker) -> Tracker:
    """`left <symbol> right`."""
    left, right = left.realize(), right.realize()
    if foldable_operands(left, right):
        return fold(tx, FUNCTIONS[symbol], (left, right))
    attempts: list[Callable[[], Tracker | None]] = [
        lambda: left.binary(tx, symbol, right),
        lambda: right.reflected(tx, symbol, left),
    ]
    for attempt in reversed(attempts) if reflects_first(tx, symbol, left, right) else attempts:
        result = attempt()
        if result is not None:
            return result
    return raise_observed(TypeError, unsupported_operands(symbol, left.python_type, right.python_type))


def reflects_first(tx: TraceContext, symbol: str, left: Tracker, right: Tracker) -> bool:
    """Whether the right operand is asked first: one of a subclass that overrides the reflected method."""
    return (
        left.python_type is not right.python_type
        and issubclass(right.python_type, left.python_type)
        and right.reflects_first(tx, symbol, left)
    )


def inplace(tx: TraceContext, symbol: str, left: Tracker, right: Tracker) -> Tracker:
    """`left <symbol>= right`; the result is what is assigned."""
    left, right = left.realize(), right.realize()
    if foldable_operands(left, right):
        return fold(tx, INPLACE_FUNCTIONS[symbol], (left, right))
    result = left.inplace(tx, symbol, right)
    return binary(tx, symbol, left, right) if result is None else result


def unsupported_operands(symbol: str, left: type, right: type) -> str:
    """CPython's message for operands that do not fit: sequences have the last word on `+` and `*`."""
    name, other = left.__name__, right.__name__
    if symbol == "+" and issubclass(left, CONCATENATED):
        base = next(kind for kind in CONCATENATED if issubclass(left, kind)).__name__
        return (
            f"can't concat {other} to {name}"
            if base == "bytes"
            else (f'can only concatenate {base} (not "{other}") to {base}')
        )
    if symbol == "*" and issubclass(left, CONCATENATED):
        return f"can't multiply sequence by non-int of type '{other}'"
    if symbol == "*" and issubclass(right, CONCATENATED):
        return f"can't multiply sequence by non-int of type '{name}'"
    shown = "** or pow()" if symbol == "**" else symbol
    return f"unsupported operand type(s) for {shown}: '{name}' and '{other}'"
