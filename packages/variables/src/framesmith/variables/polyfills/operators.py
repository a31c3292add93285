"""Binary operators whose left operand has a method written in Python."""

from collections import deque
from collections.abc import Callable

SEQUENCES = (list, tuple, str, bytes, bytearray, deque)


def operate(
    method: Callable[..., object], left: object, right: object, rest: Callable[..., object]
) -> object:
    """Ask the left operand's bound method; where it declines, `rest(left, right)` goes on."""
    result = method(right)
    if result is NotImplemented:
        return rest(left, right)
    return result


def refused(symbol: str, left: type, right: type) -> str:
    """CPython's message for operands of which none knows the other."""
    shown = "** or pow()" if symbol == "**" else symbol
    return f"unsupported operand type(s) for {shown}: '{left.__name__}' and '{right.__name__}'"


def reflected(symbol: str, name: str) -> Callable[..., object]:
    """What `left <symbol> right` does once the left operand has declined: a function of both."""

    def ask_right(left: object, right: object) -> object:
        if symbol == "*" and isinstance(right, SEQUENCES) and not hasattr(type(left), "__index__"):
            raise TypeError(f"can't multiply sequence by non-int of type '{type(left).__name__}'")
        method = getattr(type(right), name, None)
        if method is not None and type(right) is not type(left):
            result = method(right, left)
            if result is not NotImplemented:
                return result
        raise TypeError(refused(symbol, type(left), type(right)))

    return ask_right
