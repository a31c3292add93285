"""Polyfills of binary operators whose left operand has a method written in Python."""

from collections.abc import Callable
from typing import cast

from framesmith.guards.class_lookup import MISSING, defines, native_class_name, static_lookup
from framesmith.variables.operations.binary import operands_text, sequence_base


def operate(
    method: Callable[..., object], left: object, right: object, rest: Callable[..., object]
) -> object:
    """Call the left operand's bound method; if it returns NotImplemented, `rest(left, right)`."""
    result = method(right)
    if result is NotImplemented:
        return rest(left, right)
    return result


def reflected(symbol: str, name: str) -> Callable[..., object]:
    """The function of both operands that `left <symbol> right` calls once the left method returned NotImplemented."""

    def ask_right(left: object, right: object) -> object:
        method = bound_special(right, name)
        # a sequence's own `__rmul__` words it differently
        repeats = symbol == "*" and sequence_base(type(right)) is not None
        # CPython never asks the reflected method of an operand of the same type; `*` of a sequence needs an index.
        fits = defines(type(left), "__index__") if repeats else type(right) is not type(left)
        if method is not None and fits:
            result = method(left)
            if result is not NotImplemented:
                return result
        raise TypeError(operands_text(symbol, type(left), type(right), native_name(left), native_name(right)))

    return ask_right


def make_inplace_fallback(symbol: str, function: Callable[[object, object], object]) -> Callable[..., object]:
    """The function of both operands that `left <symbol>= right`
    calls once the in-place method returned NotImplemented."""

    def fall_back(left: object, right: object) -> object:
        try:
            return function(left, right)
        except TypeError as error:
            names = symbol, type(left), type(right), native_name(left), native_name(right)
            # Only the error of this very operator is told anew; one from inside of a method goes on.
            told = str(error) == operands_text(*names)
            if error.__traceback__ is None or error.__traceback__.tb_next is not None or not told:
                raise
        # Outside of the handler, so that the error has no context.
        raise TypeError(operands_text(*names, in_place=True))

    return fall_back


def bound_special(value: object, name: str) -> Callable[..., object] | None:
    """A special method bound to the value, looked up on its type alone (`_PyObject_LookupSpecial`); None without one."""
    stored = static_lookup(type(value), name)
    if stored is MISSING:
        return None
    # Bound by hand: `getattr` on the value would look into its instance dictionary.
    get = static_lookup(type(stored), "__get__")
    bound = stored if get is MISSING else cast(Callable[..., object], get)(stored, value, type(value))
    return cast(Callable[..., object], bound)


def native_name(value: object) -> str:
    """The name of a value's type in CPython's errors."""
    return native_class_name(type(value))
