"""Slots that a class fills with special methods: length, membership, items.

Each function here is the slot of the same name of a tracker whose class answers it; the other slots are in `object_slots`
and `operator_slots`.
"""

import sys
from typing import Final

from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import NonContainerSample, find_message
from framesmith.variables.core.observed import unless_type_error
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.objects.special_methods import (
    call_method,
    find_special_method,
    is_disabled,
    is_native,
    raise_type_error,
    require_builtin_part,
)
from framesmith.variables.operations.compare import equal
from framesmith.variables.operations.index import index_of, known_compare
from framesmith.variables.operations.truth import truth_of

NOT_A_CONTAINER: Final = find_message("0 in value", NonContainerSample)
NOT_SEARCHED: Final = find_message("0 in value")
NOT_SUBSCRIPTABLE: Final = find_message("value[0]")
NO_ITEM_ASSIGNMENT: Final = find_message("value[0] = 0")
NO_ITEM_DELETION: Final = find_message("del value[0]")
NO_LENGTH: Final = find_message("len(value)")


def length(self: Tracker, tx: TraceContext) -> Tracker:
    """`__len__`, with CPython's checks of its result."""
    found = find_special_method(tx, self, "__len__")
    if found is None:
        return raise_type_error(tx, self, NO_LENGTH)
    if is_native(found):
        return require_builtin_part(self, "taking its length").length(tx)
    result = call_method(tx, self, found).realize()
    if result.is_run_time_number and result.python_type is int:
        is_negative, answer = known_compare(tx, "<", result, Constant(0)), result
    else:
        # A bool or an instance of another subclass of int becomes a plain int, as in `PyNumber_AsSsize_t`.
        size = index_of(tx, result)
        if size > sys.maxsize:
            raise_observed(tx, OverflowError, "cannot fit 'int' into an index-sized integer")
        is_negative, answer = size < 0, Constant(size)
    if is_negative:
        raise_observed(tx, ValueError, "__len__() should return >= 0")
    return answer


def ask_length(self: Tracker, tx: TraceContext) -> Tracker | None:
    """`__len__`, or if it raises TypeError or there is none
    `__length_hint__`; None where the class has no method of its own for it."""
    found = find_special_method(tx, self, "__len__")
    if found is not None:
        if is_native(found):
            return None
        # `PyObject_LengthHint` falls back to `__length_hint__` after a TypeError only.
        answer = unless_type_error(lambda: self.length(tx))
        if answer is not None:
            return answer
    found = find_special_method(tx, self, "__length_hint__")
    if found is None or is_native(found):
        return None
    hint = unless_type_error(lambda: call_method(tx, self, found))
    if hint is None or (isinstance(hint, Constant) and hint.value is NotImplemented):
        return None
    known = isinstance(hint, Constant) and isinstance(hint.value, int) and hint.value >= 0
    if not known:  # an error whose text differs from version to version, or a number that is not known
        self.unsupported("the hint of its length")
    return hint


def contains(self: Tracker, tx: TraceContext, item: Tracker) -> Tracker:
    """`__contains__`, else a search by iteration."""
    found = find_special_method(tx, self, "__contains__")
    if found is not None:
        if is_native(found):
            return require_builtin_part(self, "a membership test").contains(tx, item)
        verdict = truth_of(tx, call_method(tx, self, found, item))
        return Constant(verdict) if isinstance(verdict, bool) else verdict
    if is_disabled(tx, self, "__contains__"):
        return raise_type_error(tx, self, NOT_A_CONTAINER)
    # CPython words this error otherwise than that of iterating.
    if not any(find_special_method(tx, self, name) for name in ("__iter__", "__getitem__")):
        return raise_type_error(tx, self, NOT_SEARCHED)
    iterator = self.iterate(tx)
    while (candidate := iterator.advance(tx)) is not None:
        # Identity first, then `==`, as `PySequence_Contains` compares.
        same = equal(tx, candidate, item)
        if not isinstance(same, bool):
            return self.unsupported("a membership test with a comparison of unknown result")
        if same:
            return Constant(True)
    return Constant(False)


def subscript(self: Tracker, tx: TraceContext, key: Tracker) -> Tracker:
    """`__getitem__`; for the inherited one of a dict, the builtin part calls `__missing__`."""
    found = find_special_method(tx, self, "__getitem__")
    if found is None:
        return raise_type_error(tx, self, NOT_SUBSCRIPTABLE)
    if is_native(found):
        return require_builtin_part(self, "subscripting it").subscript(tx, key)
    return call_method(tx, self, found, key)


def set_subscript(self: Tracker, tx: TraceContext, key: Tracker, value: Tracker) -> None:
    """`__setitem__`."""
    found = find_special_method(tx, self, "__setitem__")
    if found is None:
        raise_type_error(tx, self, NO_ITEM_ASSIGNMENT)
    elif is_native(found):
        require_builtin_part(self, "storing an item").set_subscript(tx, key, value)
    else:
        call_method(tx, self, found, key, value)


def delete_subscript(self: Tracker, tx: TraceContext, key: Tracker) -> None:
    """`__delitem__`."""
    found = find_special_method(tx, self, "__delitem__")
    if found is None:
        raise_type_error(tx, self, NO_ITEM_DELETION)
    elif is_native(found):
        require_builtin_part(self, "deleting an item").delete_subscript(tx, key)
    else:
        call_method(tx, self, found, key)
