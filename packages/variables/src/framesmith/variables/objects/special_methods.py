"""Slots that a class fills with special methods: calls, iteration, length, truth, membership, items, operators.

The rules are those of "Special method names" in the Python data model: they are looked up on the type, never on the
instance. `SpecialMethods` is the part of an instance tracker (and of a class tracker, through its metaclass) that calls
them; all else of an object is in `instances` and `classes`.
"""

from collections.abc import Hashable
from types import FunctionType
from typing import Final

from framesmith.guards.class_lookup import class_name, static_lookup
from framesmith.variables.builtin_types.hashed_items import UnhashableValue
from framesmith.variables.core.base import (
    Arguments,
    Keywords,
    NativeMethod,
    PendingCall,
    TraceContext,
    Tracker,
    run_pending,
)
from framesmith.variables.core.builtin_type import builtin_type
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import Refusing, find_message
from framesmith.variables.core.folding import fold
from framesmith.variables.core.observed import ObservedException, is_observed_instance
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.table import row_of
from framesmith.variables.core.type_names import type_name
from framesmith.variables.objects.attribute_errors import missing_attribute
from framesmith.variables.objects.descriptors import NATIVE_METHODS, InplaceMethod, begin_get
from framesmith.variables.objects.item_iterators import ItemIterator
from framesmith.variables.objects.lookup import Found, find
from framesmith.variables.operations.binary import METHODS as BINARY_METHODS
from framesmith.variables.operations.binary import UNARY_METHODS
from framesmith.variables.operations.compare import METHODS as COMPARE_METHODS
from framesmith.variables.operations.compare import equal
from framesmith.variables.operations.truth import known_truth, truth_of

NOT_CALLABLE: Final = find_message("value()")
NOT_ITERABLE: Final = find_message("iter(value)")
NOT_AN_ITERATOR: Final = find_message("next(value)")
NOT_A_CONTAINER: Final = find_message("0 in value", Refusing)
NOT_SEARCHED: Final = find_message("0 in value")
NOT_SUBSCRIPTABLE: Final = find_message("value[0]")
NO_ITEM_ASSIGNMENT: Final = find_message("value[0] = 0")
NO_ITEM_DELETION: Final = find_message("del value[0]")
NO_LENGTH: Final = find_message("len(value)")


def is_native(found: Found) -> bool:
    """Whether a special method is written in C (inherited from a builtin base)."""
    return found.stored is None and isinstance(found.value, NATIVE_METHODS)


def overrides_iteration(instance: Tracker) -> bool:
    """Whether a dict subclass has its own `__iter__`: C code then copies it through its methods (`dict_merge`)."""
    kind = instance.python_type
    return issubclass(kind, dict) and type(static_lookup(kind, "__iter__")) is FunctionType


def native_binary(tx: TraceContext, symbol: str, left: Tracker, right: Tracker) -> Tracker | None:
    """An operator on two builtin values; None means NotImplemented."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return _fold_method(tx, f"__{BINARY_METHODS[symbol]}__", left, right)
    return left.binary(tx, symbol, right)


def _fold_method(tx: TraceContext, name: str, left: Constant, right: Constant) -> Tracker | None:
    method = static_lookup(left.python_type, name)
    if not callable(method):
        return None
    result = fold(tx, method, (left, right))
    return None if isinstance(result, Constant) and result.value is NotImplemented else result


class SpecialMethods(Tracker):
    """The slots of an object whose class may define special methods.

    Invariant: `payload`, if any, tracks the builtin part of the object, whose class then derives from a builtin type.
    """

    payload: Tracker | None = None

    def bind_native(self, tx: TraceContext, descriptor: NativeMethod) -> Tracker | None:
        """An in-place method in C works on the builtin part, and gives the object itself."""
        in_place = descriptor.__name__.startswith("__i") and self.storage(tx) is not self
        return InplaceMethod(descriptor, self) if in_place else None

    def storage(self, tx: TraceContext) -> Tracker:
        """The builtin part, or `self` without one. Breaks the graph
        for a builtin base whose content is not modelled."""
        if self.payload is not None:
            return self.payload
        if builtin_type(tx, self.python_type) is None:
            return self
        return self.unsupported("use of its content")

    # -- asking ------------------------------------------------------------------------------------
    @property
    def iterates_in_python(self) -> bool:
        """Whether `__iter__` or `__next__` is a Python function."""
        return any(
            type(static_lookup(self.python_type, name)) is FunctionType for name in ("__next__", "__iter__")
        )

    def find_special(self, tx: TraceContext, name: str) -> Found | None:
        """The class entry of a special method; None when the class has none or sets it to None."""
        found = find(tx, self.python_type, name)
        return None if found is None or (found.value is None and found.stored is None) else found

    def begin_method_call(
        self, tx: TraceContext, found: Found, args: Arguments, kwargs: Keywords | None = None
    ) -> Tracker | PendingCall:
        """Call a special method; a Python function may be left to the symbolic interpreter."""
        return run_pending(tx, begin_get(tx, found, self)).begin_call(tx, args, kwargs or {})

    def special_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """A special method, looked up on the type and bound; AttributeError when there is none."""
        found = self.find_special(tx, name)
        if found is None:
            return missing_attribute(tx, self, name)
        return run_pending(tx, begin_get(tx, found, self)).realize()

    def call_method(self, tx: TraceContext, found: Found, *args: Tracker) -> Tracker:
        """Call a special method and run it to its end."""
        return run_pending(tx, self.begin_method_call(tx, found, args)).realize()

    def require_builtin_part(self, doing: str) -> Tracker:
        """The builtin part, on which an inherited C method works; breaks the graph without one."""
        return self.unsupported(doing) if self.payload is None else self.payload

    def raise_type_error(self, tx: TraceContext, message: str) -> Tracker:
        """Raise TypeError with CPython's message; `{}` is the name of the type."""
        return raise_observed(tx, TypeError, message.format(type_name(self)))

    # -- calls and iteration -----------------------------------------------------------------------
    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """A call of `__call__`; TypeError when the class has none."""
        found = self.find_special(tx, "__call__")
        if found is None:
            return self.raise_type_error(tx, NOT_CALLABLE)
        return self.begin_method_call(tx, found, args, kwargs)

    def iterate(self, tx: TraceContext) -> Tracker:
        """`__iter__`, else an iterator over `self[0]`, `self[1]` ... for a class with `__getitem__` only."""
        found = self.find_special(tx, "__iter__")
        if found is not None:
            if is_native(found):
                return self.require_builtin_part("iterating over it").iterate(tx)
            iterator = self.call_method(tx, found)
            if static_lookup(iterator.python_type, "__next__") is None or not hasattr(
                iterator.python_type, "__next__"
            ):
                name = class_name(iterator.python_type)
                raise_observed(tx, TypeError, f"iter() returned non-iterator of type '{name}'")
            return iterator
        getting = None if self._is_disabled(tx, "__iter__") else self.find_special(tx, "__getitem__")
        if getting is not None:
            if is_native(getting) and self.payload is None:  # a mapping in C has one, and cannot be iterated
                return self.unsupported("iterating over it")
            return ItemIterator(self)
        return self.raise_type_error(tx, NOT_ITERABLE)

    def _is_disabled(self, tx: TraceContext, name: str) -> bool:
        """Whether the class sets a special method to None, which disables its fallback."""
        found = find(tx, self.python_type, name)
        return found is not None and found.value is None

    def begin_advance(self, tx: TraceContext) -> Tracker | PendingCall | None:
        """`__next__`, left to the symbolic interpreter if it is a Python function."""
        found = self.find_special(tx, "__next__")
        if found is None:
            return self.raise_type_error(tx, NOT_AN_ITERATOR)
        if is_native(found):
            return self.require_builtin_part("calling next() on it").begin_advance(tx)
        try:
            return self.begin_method_call(tx, found, ())
        except ObservedException as error:
            if is_observed_instance(error, StopIteration):
                return None
            raise

    # -- containers --------------------------------------------------------------------------------
    def length(self, tx: TraceContext) -> Tracker:
        """`__len__`, with CPython's checks of its result."""
        found = self.find_special(tx, "__len__")
        if found is None:
            return self.raise_type_error(tx, NO_LENGTH)
        if is_native(found):
            return self.require_builtin_part("taking its length").length(tx)
        result = self.call_method(tx, found)
        if not isinstance(result, Constant):
            return result
        if not isinstance(result.value, int):
            name = class_name(result.python_type)
            raise_observed(tx, TypeError, f"'{name}' object cannot be interpreted as an integer")
        if result.value < 0:
            raise_observed(tx, ValueError, "__len__() should return >= 0")
        return Constant(int(result.value))

    def truth(self, tx: TraceContext) -> bool | Tracker:
        """`__bool__`, else `__len__`, else true."""
        found = self.find_special(tx, "__bool__")
        if found is not None:
            if is_native(found):
                return self.require_builtin_part("taking its truth value").truth(tx)
            result = self.call_method(tx, found)
            if result.python_type is not bool:
                name = class_name(result.python_type)
                raise_observed(tx, TypeError, f"__bool__ should return bool, returned {name}")
            return truth_of(tx, result)
        if self.find_special(tx, "__len__") is None:
            return True
        return truth_of(tx, self.length(tx))

    def contains(self, tx: TraceContext, item: Tracker) -> Tracker:
        """`__contains__`, else a search by iteration."""
        found = self.find_special(tx, "__contains__")
        if found is not None:
            if is_native(found):
                return self.require_builtin_part("a membership test").contains(tx, item)
            verdict = truth_of(tx, self.call_method(tx, found, item))
            return Constant(verdict) if isinstance(verdict, bool) else verdict
        if self._is_disabled(tx, "__contains__"):
            return self.raise_type_error(tx, NOT_A_CONTAINER)
        if not any(self.find_special(tx, name) for name in ("__iter__", "__getitem__")):
            return self.raise_type_error(tx, NOT_SEARCHED)
        iterator = self.iterate(tx)
        while (candidate := iterator.advance(tx)) is not None:
            same = equal(tx, candidate, item)
            if not isinstance(same, bool):
                return self.unsupported("a membership test with a comparison of unknown result")
            if same:
                return Constant(True)
        return Constant(False)

    def subscript(self, tx: TraceContext, key: Tracker) -> Tracker:
        """`__getitem__`; for the inherited one of a dict, the builtin part calls `__missing__`."""
        found = self.find_special(tx, "__getitem__")
        if found is None:
            return self.raise_type_error(tx, NOT_SUBSCRIPTABLE)
        if is_native(found):
            return self.require_builtin_part("subscripting it").subscript(tx, key)
        return self.call_method(tx, found, key)

    def set_subscript(self, tx: TraceContext, key: Tracker, value: Tracker) -> None:
        """`__setitem__`."""
        found = self.find_special(tx, "__setitem__")
        if found is None:
            self.raise_type_error(tx, NO_ITEM_ASSIGNMENT)
        elif is_native(found):
            self.require_builtin_part("storing an item").set_subscript(tx, key, value)
        else:
            self.call_method(tx, found, key, value)

    def delete_subscript(self, tx: TraceContext, key: Tracker) -> None:
        """`__delitem__`."""
        found = self.find_special(tx, "__delitem__")
        if found is None:
            self.raise_type_error(tx, NO_ITEM_DELETION)
        elif is_native(found):
            self.require_builtin_part("deleting an item").delete_subscript(tx, key)
        else:
            self.call_method(tx, found, key)

    # -- operators ---------------------------------------------------------------------------------
    def _operate(self, tx: TraceContext, found: Found, other: Tracker) -> Tracker | None:
        result = self.call_method(tx, found, other)
        return None if isinstance(result, Constant) and result.value is NotImplemented else result

    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`__add__` and the like; None (NotImplemented) when the class has none."""
        found = self.find_special(tx, f"__{BINARY_METHODS[symbol]}__")
        if found is None:
            if self.payload is not None and symbol == "+":  # a sequence slot has no entry to look up
                return native_binary(tx, symbol, self.payload, other.storage(tx))
            return None
        if is_native(found):
            part = self.require_builtin_part(f"operator {symbol}")
            if overrides_iteration(self):
                return self.unsupported(f"operator {symbol} with an __iter__ of its own")
            return native_binary(tx, symbol, part, other.storage(tx))
        return self._operate(tx, found, other)

    def begin_special(self, tx: TraceContext, name: str, args: Arguments) -> Tracker | PendingCall | None:
        """Call a special method that is a Python function of the class, else None."""
        found = self._python_method(tx, name)
        return None if found is None else self.begin_method_call(tx, found, args)

    def operator_method(self, tx: TraceContext, symbol: str, in_place: bool) -> Tracker | None:
        """The bound `__add__`, `__iadd__` or the like if it is a Python function of the class, else None."""
        found = self._python_method(tx, f"__{'i' if in_place else ''}{BINARY_METHODS[symbol]}__")
        return None if found is None else run_pending(tx, begin_get(tx, found, self))

    def _python_method(self, tx: TraceContext, name: str) -> Found | None:
        found = self.find_special(tx, name)
        plain = found is not None and found.stored is None and isinstance(found.value, FunctionType)
        return found if plain else None

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`__radd__` and the like; None (NotImplemented) between
        operands of one type, where CPython does not call it."""
        if other.python_type is self.python_type:
            return None
        found = self.find_special(tx, f"__r{BINARY_METHODS[symbol]}__")
        if found is not None and not is_native(found):
            return self._operate(tx, found, other)
        if self.payload is None:
            return None if found is None else self.unsupported(f"operator {symbol}")
        if isinstance(other, SpecialMethods):
            return None
        result = native_binary(tx, symbol, other, self.payload)
        return self.payload.reflected(tx, symbol, other) if result is None else result

    def reflects_first(self, tx: TraceContext, symbol: str, other: Tracker) -> bool:
        """Whether the right operand's class overrides the reflected
        method; only then it goes first (CPython: `SLOT1BINFULL`)."""
        name = f"__r{BINARY_METHODS[symbol]}__"
        if not isinstance(other, SpecialMethods):
            return True
        mine, theirs = find(tx, self.python_type, name), find(tx, other.python_type, name)
        return (mine and (mine.value, mine.stored)) != (theirs and (theirs.value, theirs.stored))

    def inplace(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`__iadd__` and the like; None (NotImplemented) when the class has none."""
        found = self.find_special(tx, f"__i{BINARY_METHODS[symbol]}__")
        if found is None:
            return None
        if is_native(found):
            result = self.require_builtin_part(f"operator {symbol}=").inplace(tx, symbol, other.storage(tx))
            return self if result is self.payload else result
        return self._operate(tx, found, other)

    def unary(self, tx: TraceContext, symbol: str) -> Tracker:
        """`__neg__`, `__pos__`, `__invert__`."""
        found = self.find_special(tx, UNARY_METHODS[symbol])
        if found is None:
            return self.raise_type_error(tx, f"bad operand type for unary {symbol}: '{{}}'")
        if is_native(found):
            return self.require_builtin_part(f"unary {symbol}").unary(tx, symbol)
        return self.call_method(tx, found)

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`__eq__` and the like; `object.__ne__` inverts `__eq__`. None means NotImplemented."""
        found = self.find_special(tx, COMPARE_METHODS[symbol])
        if found is None:
            return None
        if not is_native(found):
            return self._operate(tx, found, other)
        if found.owner is not object:
            return self.native_compare(tx, found, symbol, other)
        if symbol != "!=":
            return None
        result = self.compare(tx, "==", other)
        if result is None:
            return None
        return Constant(not known_truth(tx, result))

    def native_compare(self, tx: TraceContext, found: Found, symbol: str, other: Tracker) -> Tracker | None:
        """A comparison by an inherited C method: that of the builtin part, or the row of the method."""
        if self.payload is not None:
            right = other.storage(tx)
            if isinstance(self.payload, Constant) and isinstance(right, Constant):
                return _fold_method(tx, COMPARE_METHODS[symbol], self.payload, right)
            return self.payload.compare(tx, symbol, right)
        if row_of(tx.registry, found.value) is None:
            return self.unsupported(f"comparison {symbol}")
        return self._operate(tx, found, other)

    def hash_key(self, tx: TraceContext) -> Hashable:
        """By the builtin part, else by identity; a class with its
        own `__hash__` or `__eq__` goes to `structural_key`."""
        hashing = self.find_special(tx, "__hash__")
        if hashing is None:
            raise UnhashableValue(tx, f"unhashable type: '{type_name(self)}'")
        comparing = self.find_special(tx, "__eq__")
        if is_native(hashing) and comparing is not None and is_native(comparing):
            if self.payload is not None:
                return self.payload.hash_key(tx)
            if hashing.owner is object and comparing.owner is object:
                tx.changes.note_key(self)
                return ("object", self)
        return self.structural_key(tx)

    def structural_key(self, tx: TraceContext) -> Hashable:
        """The key of an object whose class defines hash or equality
        itself; breaks the graph unless a subclass knows better."""
        return self.unsupported("hashing it with a __hash__ or __eq__ of its own")
