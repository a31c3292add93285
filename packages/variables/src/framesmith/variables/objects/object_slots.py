"""Slots that a class fills with special methods: calls, iteration, truth, hash.

Each function here is the slot of the same name of a tracker whose class answers it; `container_slots` and `operator_slots`
have the others. A special method that is inherited from a builtin base works on the builtin part, `builtin_part`.
"""

from collections.abc import Hashable
from types import FunctionType
from typing import Final

from framesmith.guards.class_lookup import static_lookup
from framesmith.variables.builtin_types.unhashable_keys import UnhashableValue
from framesmith.variables.core.attribute_errors import missing_attribute
from framesmith.variables.core.base import (
    Arguments,
    Keywords,
    PendingCall,
    TraceContext,
    Tracker,
    run_pending,
)
from framesmith.variables.core.cpython_messages import find_message, find_wrong_result_text
from framesmith.variables.core.observed import ObservedException, is_observed_instance
from framesmith.variables.core.type_names import type_name
from framesmith.variables.objects.descriptors import begin_get
from framesmith.variables.objects.item_iterators import ItemIterator
from framesmith.variables.objects.special_methods import (
    begin_method_call,
    call_method,
    find_special_method,
    is_disabled,
    is_native,
    is_of_object,
    python_method,
    raise_type_error,
    raise_wrong_result,
    require_builtin_part,
)
from framesmith.variables.operations.truth import truth_of

NOT_CALLABLE: Final = find_message("value()")
NOT_ITERABLE: Final = find_message("iter(value)")
NOT_AN_ITERATOR: Final = find_message("next(value)")
NO_ITERATOR_GIVEN: Final = find_wrong_result_text(iter)
NO_BOOL_GIVEN: Final = find_wrong_result_text(bool)


def iterates_in_python(receiver: Tracker) -> bool:
    """Whether `__iter__` or `__next__` is a Python function."""
    methods = (static_lookup(receiver.python_type, name) for name in ("__next__", "__iter__"))
    return any(type(method) is FunctionType for method in methods)


def special_attribute(self: Tracker, tx: TraceContext, name: str) -> Tracker:
    """A special method, looked up on the type and bound; AttributeError when there is none."""
    found = find_special_method(tx, self, name)
    if found is None:
        return missing_attribute(tx, self, name)
    return run_pending(tx, begin_get(tx, found, self)).realize()


def begin_special(
    self: Tracker, tx: TraceContext, name: str, args: Arguments
) -> Tracker | PendingCall | None:
    """Call a special method that is a Python function of the class, else None."""
    found = python_method(tx, self, name)
    return None if found is None else begin_method_call(tx, self, found, args)


def begin_call(self: Tracker, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
    """A call of `__call__`; TypeError when the class has none."""
    found = find_special_method(tx, self, "__call__")
    if found is None:
        return raise_type_error(tx, self, NOT_CALLABLE)
    return begin_method_call(tx, self, found, args, kwargs)


def iterate(self: Tracker, tx: TraceContext) -> Tracker:
    """`__iter__`, else an iterator over `self[0]`, `self[1]` ... for a class with `__getitem__` only."""
    found = find_special_method(tx, self, "__iter__")
    if found is not None:
        if is_native(found):
            return require_builtin_part(self, "iterating over it").iterate(tx)
        iterator = call_method(tx, self, found)
        if static_lookup(iterator.python_type, "__next__") is None or not hasattr(
            iterator.python_type, "__next__"
        ):
            raise_wrong_result(tx, NO_ITERATOR_GIVEN, self, iterator)
        return iterator
    # `__iter__ = None` forbids the fallback to `__getitem__`.
    getting = None if is_disabled(tx, self, "__iter__") else find_special_method(tx, self, "__getitem__")
    if getting is not None:
        if is_native(getting) and self.builtin_part is None:  # a mapping in C has one, and cannot be iterated
            return self.unsupported("iterating over it")
        return ItemIterator(self)
    return raise_type_error(tx, self, NOT_ITERABLE)


def begin_advance(self: Tracker, tx: TraceContext) -> Tracker | PendingCall | None:
    """`__next__`, left to the symbolic interpreter if it is a Python function."""
    found = find_special_method(tx, self, "__next__")
    if found is None:
        return raise_type_error(tx, self, NOT_AN_ITERATOR)
    if is_native(found):
        return require_builtin_part(self, "calling next() on it").begin_advance(tx)
    try:
        return begin_method_call(tx, self, found, ())
    # A row may have run the method to its end; then StopIteration ends the iteration here.
    except ObservedException as error:
        if is_observed_instance(error, StopIteration):
            return None
        raise


def truth(self: Tracker, tx: TraceContext) -> bool | Tracker:
    """`__bool__`, else `__len__`, else true."""
    found = find_special_method(tx, self, "__bool__")
    if found is not None:
        if is_native(found):
            return require_builtin_part(self, "taking its truth value").truth(tx)
        result = call_method(tx, self, found)
        if result.python_type is not bool:
            raise_wrong_result(tx, NO_BOOL_GIVEN, self, result)
        return truth_of(tx, result)
    if find_special_method(tx, self, "__len__") is None:
        return True
    return truth_of(tx, self.length(tx))


def builtin_hash_key(tx: TraceContext, receiver: Tracker) -> Hashable | None:
    """The key under which C code hashes the object: by its builtin part, else by identity.

    None for a class that defines `__hash__` or `__eq__` itself; TypeError for one without a hash.
    """
    # A class with `__eq__` alone has `__hash__ = None`, for which this is None too.
    hashing = find_special_method(tx, receiver, "__hash__")
    if hashing is None:
        raise UnhashableValue(tx, f"unhashable type: '{type_name(receiver)}'")
    comparing = find_special_method(tx, receiver, "__eq__")
    if comparing is None:
        return None
    if is_of_object(hashing) and is_of_object(comparing):
        # On later calls two keys have to be two objects again; one guard keeps all of a type apart.
        tx.changes.note_key(receiver)
        return ("object", receiver)
    if receiver.builtin_part is not None and is_native(hashing) and is_native(comparing):
        return receiver.builtin_part.hash_key(tx)
    return None
