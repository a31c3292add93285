"""`functools`: rows for what is written in C. The rest of the module is Python code and is inlined.

`partial` is in `partials`, `lru_cache` in `cached_functions`, `cached_property` in `objects.descriptors`.
"""

import functools
from typing import Final

from framesmith.guards.class_lookup import defines
from framesmith.variables.builtin_types.dicts import make_dict_tracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.attribute_functions import attribute_or_none
from framesmith.variables.callables.functions import FunctionTracker
from framesmith.variables.callables.methods import BoundMethod
from framesmith.variables.callables.nested_functions import NestedFunction
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker
from framesmith.variables.core.builtin_methods import WITHOUT_DICTIONARY, Builtin
from framesmith.variables.core.cpython_messages import find_error_text
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.polyfills import functools as polyfills

ROWS: Final = Rows()

_NOT_ITERABLE: Final = find_error_text(functools.reduce, max, None)


@ROWS.call(functools.reduce)
def reduce(
    tx: TraceContext, function: Tracker, iterable: Tracker, initial: Tracker | None = None, /
) -> Tracker | PendingCall:
    """`functools.reduce`."""
    if not any(defines(iterable.python_type, name) for name in ("__iter__", "__getitem__")):
        raise_observed(tx, TypeError, _NOT_ITERABLE)
    operands = (function, iterable) if initial is None else (function, iterable, initial)
    return polyfill_function(polyfills.reduce).bind(tx, operands, {})


@ROWS.call(functools.cmp_to_key)
def cmp_to_key(tx: TraceContext, mycmp: Tracker) -> Tracker | PendingCall:
    """`functools.cmp_to_key`."""
    return polyfill_function(polyfills.cmp_to_key).bind(tx, (mycmp,), {})


@ROWS.call(functools.update_wrapper)
def update_wrapper(
    tx: TraceContext,
    wrapper: Tracker,
    wrapped: Tracker,
    assigned: Tracker | None = None,
    updated: Tracker | None = None,
) -> Tracker | PendingCall:
    """`functools.update_wrapper` for a function created in the
    trace; for other wrappers the library's code is inlined."""
    names = _names(assigned, functools.WRAPPER_ASSIGNMENTS)
    if not isinstance(wrapper, NestedFunction) or names is None:
        given = [operand for operand in (assigned, updated) if operand is not None]
        return polyfill_function(functools.update_wrapper).bind(tx, (wrapper, wrapped, *given), {})
    if _names(updated, functools.WRAPPER_UPDATES) != functools.WRAPPER_UPDATES:
        return wrapper.unsupported("functools.update_wrapper with `updated`")
    # names that the wrapped object lacks are left out, as in the library
    for name in names:
        value = _metadata(tx, wrapped, name)
        if value is not None:
            wrapper.set_attribute(tx, name, value)
    for name, value in _own_attributes(tx, wrapped).items():
        wrapper.set_attribute(tx, name, value)
    wrapper.set_attribute(tx, "__wrapped__", wrapped)
    return wrapper


def _names(given: Tracker | None, default: tuple[str, ...]) -> tuple[str, ...] | None:
    """The names in an argument, or the default; None when they are not known."""
    if given is None:
        return default
    value = given.as_python_constant() if given.is_python_constant() else None
    return value if isinstance(value, tuple) else None


def _metadata(tx: TraceContext, function: Tracker, name: str) -> Tracker | None:
    """`__name__`, `__annotations__` and the like of the wrapped object; None when it has none."""
    # stored on the wrapped function too, so that both have the same dictionary, as in eager
    if isinstance(function, NestedFunction) and name not in function.attributes:
        if name == "__type_params__":
            return TupleTracker(())
        if name == "__annotations__":
            function.set_attribute(tx, name, _annotations(function))
    return attribute_or_none(tx, function, name)


def _annotations(function: NestedFunction) -> Tracker:
    """The dictionary of a function's annotations, which the compiler may give as a flat tuple of names and values."""
    given = function.annotations
    if given is None:
        return make_dict_tracker([])
    if not isinstance(given, TupleTracker):
        return given
    return make_dict_tracker(list(zip(given.items[::2], given.items[1::2], strict=True)))


def _own_attributes(tx: TraceContext, function: Tracker) -> dict[str, Tracker]:
    """The entries of `function.__dict__`."""
    if isinstance(function, BoundMethod):
        return _own_attributes(tx, function.function.realize())
    if isinstance(function, FunctionTracker):
        return {name: function.attribute(tx, name) for name in vars(function.value)}
    if isinstance(function, NestedFunction):
        special = {*functools.WRAPPER_ASSIGNMENTS, "__annotations__", "__type_params__"}
        return {name: value for name, value in function.attributes.items() if name not in special}
    if isinstance(function, Builtin) and type(function.value) in WITHOUT_DICTIONARY:
        return {}
    return function.unsupported("functools.update_wrapper from it")
