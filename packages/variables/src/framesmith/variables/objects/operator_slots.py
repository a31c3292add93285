"""Slots that a class fills with special methods: operators and comparisons.

Each public function here is the slot of the same name of a tracker whose class answers it; the other slots are in
`object_slots` and `container_slots`. The order in which the operands are asked is in `operations`.
"""

from typing import Final

from framesmith.guards.class_lookup import overrides
from framesmith.variables.builtin_types.dicts import DictTracker
from framesmith.variables.core.base import TraceContext, Tracker, run_pending
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.folding import fold_method
from framesmith.variables.core.table import row_of
from framesmith.variables.objects.descriptors import begin_get
from framesmith.variables.objects.lookup import Found, find
from framesmith.variables.objects.special_methods import (
    call_method,
    find_special_method,
    is_native,
    is_of_object,
    overrides_iteration,
    python_method,
    raise_type_error,
    require_builtin_part,
)
from framesmith.variables.operations.binary import METHODS as BINARY_METHODS
from framesmith.variables.operations.binary import UNARY_METHODS, sequence_base
from framesmith.variables.operations.compare import METHODS as COMPARE_METHODS
from framesmith.variables.operations.truth import known_truth

_FORMATTING: Final = ("__str__", "__repr__", "__getitem__", "__int__", "__index__", "__float__")


def _native_binary(tx: TraceContext, symbol: str, left: Tracker, right: Tracker) -> Tracker | None:
    """An operator on two builtin values; None means NotImplemented."""
    # `int.__add__(1, 2.0)` is NotImplemented, where folding `1 + 2.0` would ask the right operand as well.
    if isinstance(left, Constant) and isinstance(right, Constant):
        return fold_method(tx, f"__{BINARY_METHODS[symbol]}__", left, right)
    return left.binary(tx, symbol, right)


def _operate(tx: TraceContext, receiver: Tracker, found: Found, other: Tracker) -> Tracker | None:
    """Call the method of an operator; None for NotImplemented."""
    result = call_method(tx, receiver, found, other)
    return None if isinstance(result, Constant) and result.value is NotImplemented else result


def binary(self: Tracker, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
    """`__add__` and the like; None (NotImplemented) when the class has none."""
    found = find_special_method(tx, self, f"__{BINARY_METHODS[symbol]}__")
    if found is None:
        if self.builtin_part is not None and symbol == "+":  # a sequence slot has no class item to look up
            return _native_binary(tx, symbol, self.builtin_part, other.builtin_part_or_self(tx))
        return None
    if is_native(found):
        part = require_builtin_part(self, f"operator {symbol}")
        # `dict.__or__` merges through `keys` and `__getitem__` of such a class.
        if overrides_iteration(self):
            return self.unsupported(f"operator {symbol} with an __iter__ of its own")
        result = _native_binary(tx, symbol, part, other.builtin_part_or_self(tx))
        # a text without a placeholder is given back itself
        return self.unsupported("formatting by it") if result is part and symbol == "%" else result
    return _operate(tx, self, found, other)


def operator_method(self: Tracker, tx: TraceContext, symbol: str, in_place: bool) -> Tracker | None:
    """The bound `__add__`, `__iadd__` or the like if it is a Python function of the class, else None."""
    found = python_method(tx, self, f"__{'i' if in_place else ''}{BINARY_METHODS[symbol]}__")
    return None if found is None else run_pending(tx, begin_get(tx, found, self))


def reflected(self: Tracker, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
    """`__radd__` and the like; None (NotImplemented) between
    operands of one type, where CPython does not call it."""
    if other.python_type is self.python_type:
        return None
    found = find_special_method(tx, self, f"__r{BINARY_METHODS[symbol]}__")
    if found is not None and not is_native(found):
        return _operate(tx, self, found, other)
    if self.builtin_part is None:
        return None if found is None else self.unsupported(f"operator {symbol}")
    # Its own method was asked already, by the slot of the left operand.
    if other.has_special_methods:
        return None
    if isinstance(self.builtin_part, DictTracker):  # `{} | an_ordered_dict` is no plain dict
        result = self.builtin_part.reflected(tx, symbol, other)
        return _native_binary(tx, symbol, other, self.builtin_part) if result is None else result
    if symbol == "%" and issubclass(other.python_type, str | bytes) and _formats_itself(self):
        return self.unsupported("formatting it")
    if symbol == "+" and sequence_base(other.python_type) not in (None, sequence_base(self.python_type)):
        return None  # the message of the TypeError names the class of the instance
    result = _native_binary(tx, symbol, other, self.builtin_part)
    return self.builtin_part.reflected(tx, symbol, other) if result is None else result


def _formats_itself(instance: Tracker) -> bool:
    """Whether the class of an instance with a builtin part has code of its own that `%` of a text calls."""
    assert instance.builtin_part is not None
    base = instance.builtin_part.python_type
    return any(overrides(instance.python_type, base, name) for name in _FORMATTING)


def reflects_first(self: Tracker, tx: TraceContext, symbol: str, other: Tracker) -> bool:
    """Whether the right operand's class overrides the reflected
    method; only then it goes first (CPython: `SLOT1BINFULL`)."""
    name = f"__r{BINARY_METHODS[symbol]}__"
    if not other.has_special_methods:
        return True
    # Only a method that differs counts, as `method_is_overloaded` compares.
    mine, theirs = find(tx, self.python_type, name), find(tx, other.python_type, name)
    return (mine and (mine.value, mine.stored)) != (theirs and (theirs.value, theirs.stored))


def inplace(self: Tracker, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
    """`__iadd__` and the like; None (NotImplemented) when the class has none."""
    found = find_special_method(tx, self, f"__i{BINARY_METHODS[symbol]}__")
    if found is None:
        return None
    if is_native(found):
        result = require_builtin_part(self, f"operator {symbol}=").inplace(
            tx, symbol, other.builtin_part_or_self(tx)
        )
        # The C method returns its receiver, which is the instance.
        return self if result is self.builtin_part else result
    return _operate(tx, self, found, other)


def unary(self: Tracker, tx: TraceContext, symbol: str) -> Tracker:
    """`__neg__`, `__pos__`, `__invert__`."""
    found = find_special_method(tx, self, UNARY_METHODS[symbol])
    if found is None:
        return raise_type_error(tx, self, f"bad operand type for unary {symbol}: '{{}}'")
    if is_native(found):
        return require_builtin_part(self, f"unary {symbol}").unary(tx, symbol)
    return call_method(tx, self, found)


def compare(self: Tracker, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
    """`__eq__` and the like; `object.__ne__` inverts `__eq__`. None means NotImplemented."""
    found = find_special_method(tx, self, COMPARE_METHODS[symbol])
    if found is None:
        return None
    if not is_native(found) and not is_of_object(found):
        return _operate(tx, self, found, other)
    if not is_of_object(found):
        return _native_compare(tx, self, found, symbol, other)
    if symbol != "!=":
        return None
    result = self.compare(tx, "==", other)
    if result is None:
        return None
    return Constant(not known_truth(tx, result))


def _native_compare(
    tx: TraceContext, receiver: Tracker, found: Found, symbol: str, other: Tracker
) -> Tracker | None:
    """A comparison by an inherited C method: that of the builtin part, or the row of the method."""
    if receiver.builtin_part is not None:
        right = other.builtin_part_or_self(tx)
        if isinstance(receiver.builtin_part, Constant) and isinstance(right, Constant):
            return fold_method(tx, COMPARE_METHODS[symbol], receiver.builtin_part, right)
        return receiver.builtin_part.compare(tx, symbol, right)
    if row_of(tx.registry, found.value) is None:
        return receiver.unsupported(f"comparison {symbol}")
    return _operate(tx, receiver, found, other)
