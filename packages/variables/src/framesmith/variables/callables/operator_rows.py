"""Rows for the functions of the module `operator`; its callable objects are in `operator_objects`."""

import operator
from collections.abc import Callable
from typing import Final

from framesmith.guards.class_lookup import defines
from framesmith.variables.builtin_types.iterators import take_items
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.callables.reductions import runs_python
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import PlainSample, find_error_text
from framesmith.variables.core.folding import fold
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.type_names import type_name
from framesmith.variables.operations.binary import FUNCTIONS as BINARY
from framesmith.variables.operations.binary import INPLACE_FUNCTIONS, binary, inplace
from framesmith.variables.operations.compare import FUNCTIONS as COMPARISONS
from framesmith.variables.operations.compare import compare, is_one_object
from framesmith.variables.operations.index import index_of, known_equal
from framesmith.variables.operations.truth import known_truth
from framesmith.variables.polyfills import reductions as polyfills

ROWS: Final = Rows()

_NO_SEQUENCE: Final = find_error_text(operator.concat, PlainSample(), ())
_NOTHING_TO_SEARCH: Final = find_error_text(operator.countOf, PlainSample(), 0)

_NOT_FOUND: Final = find_error_text(operator.indexOf, (), 0)
_COUNT_OF: Final = polyfill_function(polyfills.count_of)
_INDEX_OF: Final = polyfill_function(polyfills.index_of)

NONE, ZERO = Constant(None), Constant(0)


def _register_binary(symbol: str, function: Callable[..., object]) -> None:
    @ROWS.call(function)
    def apply(tx: TraceContext, left: Tracker, right: Tracker, /) -> Tracker:
        return binary(tx, symbol, left, right)


def _register_inplace(symbol: str, function: Callable[..., object]) -> None:
    @ROWS.call(function)
    def apply(tx: TraceContext, left: Tracker, right: Tracker, /) -> Tracker:
        return inplace(tx, symbol, left, right)


def _register_compare(symbol: str, function: Callable[..., object]) -> None:
    @ROWS.call(function)
    def apply(tx: TraceContext, left: Tracker, right: Tracker, /) -> Tracker:
        return compare(tx, symbol, left, right)


def _register_unary(symbol: str, function: Callable[..., object]) -> None:
    @ROWS.call(function)
    def apply(tx: TraceContext, value: Tracker, /) -> Tracker:
        return value.unary(tx, symbol)


for _symbol, _function in BINARY.items():
    _register_binary(_symbol, _function)
for _symbol, _function in INPLACE_FUNCTIONS.items():
    _register_inplace(_symbol, _function)
for _symbol, _function in COMPARISONS.items():
    _register_compare(_symbol, _function)
_register_unary("-", operator.neg)
_register_unary("+", operator.pos)
_register_unary("~", operator.invert)


@ROWS.call(operator.not_)
def operator_not(tx: TraceContext, value: Tracker, /) -> Tracker:
    """`not value`."""
    return Constant(not known_truth(tx, value))


@ROWS.call(operator.truth)
def operator_truth(tx: TraceContext, value: Tracker, /) -> Tracker:
    """`bool(value)`."""
    return Constant(known_truth(tx, value))


@ROWS.call(operator.is_)
def operator_is(tx: TraceContext, left: Tracker, right: Tracker, /) -> Tracker:
    """`left is right`."""
    return Constant(is_one_object(tx, left, right))


@ROWS.call(operator.is_not)
def operator_is_not(tx: TraceContext, left: Tracker, right: Tracker, /) -> Tracker:
    """`left is not right`."""
    return Constant(not is_one_object(tx, left, right))


@ROWS.call(operator.length_hint)
def length_hint(tx: TraceContext, value: Tracker, default: Tracker = ZERO, /) -> Tracker:
    """`operator.length_hint(value, default)`."""
    # asks code of the user, if there is any
    hint = value.realize().ask_length(tx)
    if hint is not None:
        return hint
    # CPython computes the hints of builtin values
    if value.is_python_constant() and default.is_python_constant():
        return fold(tx, operator.length_hint, (value, default))
    return value.unsupported("operator.length_hint")


@ROWS.call(operator.contains)
def operator_contains(tx: TraceContext, container: Tracker, item: Tracker, /) -> Tracker:
    """`item in container`."""
    return container.contains(tx, item)


@ROWS.call(operator.getitem)
def operator_getitem(tx: TraceContext, container: Tracker, key: Tracker, /) -> Tracker:
    """`container[key]`."""
    return container.subscript(tx, key)


@ROWS.call(operator.setitem)
def operator_setitem(tx: TraceContext, container: Tracker, key: Tracker, value: Tracker, /) -> Tracker:
    """`container[key] = value`."""
    container.set_subscript(tx, key, value)
    return NONE


@ROWS.call(operator.delitem)
def operator_delitem(tx: TraceContext, container: Tracker, key: Tracker, /) -> Tracker:
    """`del container[key]`."""
    container.delete_subscript(tx, key)
    return NONE


@ROWS.call(operator.index)
def operator_index(tx: TraceContext, value: Tracker, /) -> Tracker:
    """`operator.index(value)`."""
    return Constant(index_of(tx, value))


@ROWS.call(operator.concat)
def operator_concat(tx: TraceContext, left: Tracker, right: Tracker, /) -> Tracker:
    """`left + right` of sequences."""
    # C asks for a sequence before it adds: numbers are refused
    if not defines(left.python_type, "__getitem__"):
        raise_observed(tx, TypeError, _NO_SEQUENCE.format(type_name(left)))
    return binary(tx, "+", left, right)


@ROWS.call(operator.countOf)
def operator_count(tx: TraceContext, iterable: Tracker, value: Tracker, /) -> Tracker | PendingCall:
    """`countOf(iterable, value)`: how many items equal the value."""
    _require_iterable(tx, iterable)
    if runs_python(iterable):
        return _COUNT_OF.bind(tx, (iterable, value), {})
    return Constant(sum(known_equal(tx, item, value) for item in take_items(tx, iterable)))


def _require_iterable(tx: TraceContext, value: Tracker) -> None:
    if not any(defines(value.python_type, name) for name in ("__iter__", "__getitem__")):
        raise_observed(tx, TypeError, _NOTHING_TO_SEARCH.format(type_name(value)))


@ROWS.call(operator.indexOf)
def operator_index_of(tx: TraceContext, iterable: Tracker, value: Tracker, /) -> Tracker | PendingCall:
    """`indexOf(iterable, value)`: the index of the first equal item; ValueError when there is none."""
    _require_iterable(tx, iterable)
    if runs_python(iterable):
        return _INDEX_OF.bind(tx, (iterable, value, Constant(_NOT_FOUND)), {})
    for place, item in enumerate(take_items(tx, iterable)):
        if known_equal(tx, item, value):
            return Constant(place)
    return raise_observed(tx, ValueError, _NOT_FOUND)


@ROWS.call(operator.call)
def operator_call(tx: TraceContext, function: Tracker, /, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`function(*args, **kwargs)`."""
    return function.call(tx, args, kwargs)
