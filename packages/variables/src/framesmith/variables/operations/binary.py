"""`a + b`, `a += b` and the like: the order in which CPython calls the methods of the operands.

Source of the rule: Python data model, "Emulating numeric types"; CPython Objects/abstract.c. What a type answers is
the slot of its tracker; methods in Python are called by `callables.operator_calls`.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from types import WrapperDescriptorType
from typing import Final

from framesmith.guards.class_lookup import (
    class_name,
    defines,
    derives,
    is_heap_type,
    overrides,
    resolution_order,
    type_dict,
)
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.folding import fold, fold_with_builtin_part, foldable_operands
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.type_names import type_name
from framesmith.variables.operations.declining import check_declined, check_run_time_number

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


def sequence_base(cls: type) -> type | None:
    """The builtin base of a class whose `+` and `*` are slots of a sequence; None where they are those of a number.

    CPython makes `__add__` of `sq_concat`, `__add__` and `__radd__` of `nb_add`. Such slots raise TypeError, with a message of
    their own, where slots of a number return NotImplemented.
    """
    # the last one in the resolution order is the builtin type itself
    bases = [base for base in resolution_order(cls) if _concatenates(type_dict(base))]
    return bases[-1] if bases else None


def _concatenates(attributes: Mapping[str, object]) -> bool:
    return isinstance(attributes.get("__add__"), WrapperDescriptorType) and "__radd__" not in attributes


def _keeps_slot(cls: type, methods: Sequence[str]) -> bool:
    """Whether a class has the slot of its builtin sequence: one that overrides a method of the slot has none, and then
    only numbers' slots are left (source: update_one_slot in CPython's Objects/typeobject.c)."""
    base = sequence_base(cls)
    return base is not None and not any(overrides(cls, base, method) for method in methods)


def _has_sequence_slots(cls: type) -> bool:
    """Whether CPython has a table of a sequence's slots for a class, filled or not: then `*=` does not look at the right side."""
    return is_heap_type(cls) or defines(cls, "__len__") or defines(cls, "__contains__")


def binary(
    tx: TraceContext, symbol: str, left: Tracker, right: Tracker, *, in_place: bool = False
) -> Tracker:
    """`left <symbol> right`; `in_place` is true for the fallback
    of `<symbol>=`, which the message of a TypeError names."""
    left, right = left.realize(), right.realize()
    # two constants: CPython computes, with its errors
    if foldable_operands(left, right):
        return fold(tx, FUNCTIONS[symbol], (left, right))
    first, second = _ask_left, ask_right
    if reflects_first(tx, symbol, left, right):
        first, second = second, first
    result = first(tx, symbol, left, right)
    if result is None:
        result = second(tx, symbol, left, right) or _concatenate_last(tx, symbol, left, right)
    if result is not None:
        return result
    check_run_time_number(left, right)
    check_run_time_number(right, left)
    # before the TypeError: both sides have declined, but the repetition of the sequence was not tried
    _check_repetition(symbol, left, right)
    return raise_observed(tx, TypeError, unsupported_operands(symbol, left, right, in_place))


def _concatenate_last(tx: TraceContext, symbol: str, left: Tracker, right: Tracker) -> Tracker | None:
    """A known text with an instance of a subclass that has declined, of which the slot of a sequence reads the builtin part."""
    part = right.builtin_part
    if symbol != "+" or part is None or not isinstance(left, Constant):
        return None
    if part.python_type is not sequence_base(left.python_type):
        return None  # the message of the TypeError names the class of the instance
    return fold_with_builtin_part(tx, "__add__", left, right)


def _check_repetition(symbol: str, left: Tracker, right: Tracker) -> None:
    """Break the graph for `[0] * tensor`: the tensor returns NotImplemented,
    and the list would call its `__index__`, which reads the tensor."""
    for sequence, number in ((left, right), (right, left)):
        is_repeated = symbol == "*" and sequence_base(sequence.python_type) is not None
        if is_repeated and defines(number.python_type, "__index__"):
            number.unsupported("repeating a sequence with it")


def _reflected_before_sequence(
    tx: TraceContext, symbol: str, left: Tracker, right: Tracker
) -> Tracker | None:
    """`a_list += an_array` calls the array's `__radd__`: a sequence's
    own `+=` and `*=` come last (`PyNumber_InPlaceAdd`)."""
    base = sequence_base(left.python_type) if symbol in ("+", "*") else None
    if base is None or "__iadd__" not in type_dict(base):
        return None
    # a class made by a class statement has the C `__iadd__` as the slot of a number as well, which comes first
    if symbol == "+" and left.python_type is not base:
        return None
    method = f"__r{METHODS[symbol]}__"
    number = next((kind for kind in (int, float) if derives(right.python_type, kind)), object)
    # the reflected method of a number itself declines sequences
    if not overrides(right.python_type, number, method):
        return None
    return ask_right(tx, symbol, left, right)


def _ask_left(tx: TraceContext, symbol: str, left: Tracker, right: Tracker) -> Tracker | None:
    result = left.binary(tx, symbol, right)
    if result is None:
        result = _fold_number(tx, f"__{METHODS[symbol]}__", left, right)
    if result is None:
        check_run_time_number(left, right, f"__r{METHODS[symbol]}__")
        check_declined(tx, left, f"__{METHODS[symbol]}__", right)
    return result


def ask_right(tx: TraceContext, symbol: str, left: Tracker, right: Tracker) -> Tracker | None:
    """The result of the right operand's reflected method; None
    (NotImplemented) where CPython's own returns that too, or there is none."""
    result = right.reflected(tx, symbol, left)
    if result is None:
        result = _fold_number(tx, f"__r{METHODS[symbol]}__", right, left)
    if result is None:
        check_run_time_number(right, left, f"__{METHODS[symbol]}__")
        check_declined(tx, right, f"__r{METHODS[symbol]}__", left)
    return result


def _fold_number(tx: TraceContext, method: str, number: Tracker, other: Tracker) -> Tracker | None:
    """What the C method of a known number gives for an instance of a subclass of a number; a text or tuple concatenates last."""
    if not isinstance(number, Constant) or not isinstance(number.value, complex | float | int):
        return None
    return fold_with_builtin_part(tx, method, number, other)


def reflects_first(tx: TraceContext, symbol: str, left: Tracker, right: Tracker) -> bool:
    """Whether the right operand comes first: an instance of a subclass that overrides the reflected method."""
    return (
        left.python_type is not right.python_type
        and derives(right.python_type, left.python_type)
        and right.reflects_first(tx, symbol, left)
    )


def inplace(tx: TraceContext, symbol: str, left: Tracker, right: Tracker) -> Tracker:
    """`left <symbol>= right`; returns the value that is assigned."""
    left, right = left.realize(), right.realize()
    if foldable_operands(left, right):
        return fold(tx, INPLACE_FUNCTIONS[symbol], (left, right))
    if symbol == "*" and _multiplies_first(left.python_type):
        left.unsupported("operator *=, of which its class overrides a part,")
    result = _reflected_before_sequence(tx, symbol, left, right) or left.inplace(tx, symbol, right)
    if result is not None:
        return result
    check_declined(tx, left, f"__i{METHODS[symbol]}__", right)
    return binary(tx, symbol, left, right, in_place=True)


def _multiplies_first(cls: type) -> bool:
    """Whether `*=` calls the methods of `*` before a C `__imul__`: for this one CPython has no slot of a number, as it has for `__iadd__`."""
    base = sequence_base(cls)
    if base is None or "__imul__" not in type_dict(base) or overrides(cls, base, "__imul__"):
        return False
    return not _keeps_slot(cls, ("__mul__", "__rmul__"))


def unsupported_operands(symbol: str, one: Tracker, another: Tracker, in_place: bool = False) -> str:
    """CPython's message for operands that do not fit."""
    left, right, other = one.python_type, another.python_type, type_name(another)
    name = left.__name__ if symbol == "+" and sequence_base(left) is not None else type_name(one)
    return operands_text(symbol, left, right, name, other, in_place)


def operands_text(symbol: str, left: type, right: type, name: str, other: str, in_place: bool = False) -> str:
    """CPython's message, with `name` and `other` as its names of the
    two types; sequences have messages of their own for `+` and `*`."""
    if symbol == "+" and _keeps_slot(left, ("__add__",)):
        base = sequence_base(left)
        return (
            f"can't concat {other} to {name}"
            if base is bytes
            else (f'can only concatenate {class_name(base)} (not "{other}") to {class_name(base)}')
        )
    sides = ((left, other),) if in_place and _has_sequence_slots(left) else ((left, other), (right, name))
    for sequence, number in sides if symbol == "*" else ():
        if _keeps_slot(sequence, ("__mul__", "__rmul__")):
            return f"can't multiply sequence by non-int of type '{number}'"
    shown = f"{symbol}=" if in_place else "** or pow()" if symbol == "**" else symbol
    return f"unsupported operand type(s) for {shown}: '{name}' and '{other}'"
