"""Rows for the builtins that consume an iterable: `sum`, `min`, `max`, `any`, `all`, `sorted`.

`len`, `iter` and other builtins are in `callables.builtin_functions`.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Final, TypeGuard

from framesmith.guards.class_lookup import static_lookup
from framesmith.guards.sources import Pinned
from framesmith.variables.builtin_types.iterator_chains import MapIterator, is_none
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.sequences import sort_items
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.generators import GeneratorTracker
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker
from framesmith.variables.core.builtin_methods import Builtin
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import find_error_text
from framesmith.variables.core.folding import fold
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.operations.binary import binary
from framesmith.variables.operations.index import known_compare
from framesmith.variables.operations.truth import known_truth
from framesmith.variables.polyfills import reductions as polyfills
from framesmith.variables.symbolic_numbers.math_functions import extreme_of

ROWS: Final = Rows()

_ALL_OF: Final = polyfill_function(polyfills.all_of)
_ANY_OF: Final = polyfill_function(polyfills.any_of)
_EXTREME: Final = polyfill_function(polyfills.extreme)
_IS_BETTER: Final = {"<": operator.lt, ">": operator.gt}
_PYTHON: Final = (FunctionType, MethodType, functools.partial)
_SORT_BY: Final = polyfill_function(polyfills.sort_by)
_GATHERED: Final = polyfill_function(polyfills.call_with_items)
_GATHERED_ASKED: Final = polyfill_function(polyfills.call_with_counted_items)
_LENGTHS: Final = ("__len__", "__length_hint__")
SUM: Final[Callable[..., object]] = sum


def runs_python(iterable: Tracker) -> bool:
    """Whether Python code computes the items, in whose frames the graph may break."""
    if isinstance(iterable, MapIterator):
        return calls_python(iterable.function)
    return isinstance(iterable, GeneratorTracker) or iterable.iterates_in_python


def begin_call_with_items(
    tx: TraceContext, iterable: Tracker, then: Callable[..., object], *more: Tracker, asks: bool = False
) -> PendingCall:
    """`then(iterable, *more)` for a builtin that reads all items first: a polyfill reads them,
    so that the graph may break in their code. With `asks` the length is asked for before."""
    cls = iterable.python_type
    # a length in C runs no code of the user, so nothing shows whether it was asked for
    if asks and any(isinstance(static_lookup(cls, name), FunctionType) for name in _LENGTHS):
        return _GATHERED_ASKED.bind(tx, (iterable, Builtin(then), *more), {})
    return _GATHERED.bind(tx, (iterable, Builtin(then), *more), {})


@ROWS.call(sum)
def call_sum(tx: TraceContext, iterable: Tracker, /, start: Tracker | None = None) -> Tracker | PendingCall:
    """`sum(iterable, start=0)`. Known numbers are summed by `sum`
    itself, which compensates the error of floats since 3.12."""
    total: Tracker = Constant(0) if start is None else start
    # C refuses texts by the start value alone
    for kind in (str, bytes, bytearray):
        if issubclass(total.python_type, kind):
            raise_observed(tx, TypeError, find_error_text(sum, (), kind()))
    if runs_python(iterable):
        return begin_call_with_items(tx, iterable, sum, total)
    items = [item.realize() for item in unpack(tx, iterable)]
    # a compensated sum is no chain of additions, so the numbers are read
    if any(item.python_type is float for item in items):  # so are those that change from call to call
        items = [Constant(item.as_python_constant()) if item.is_run_time_number else item for item in items]
    # only a prefix: the additions have to keep their order
    known = 0
    while known < len(items) and isinstance(items[known], Constant):
        known += 1
    if known and isinstance(total, Constant):
        values = [item.as_python_constant() for item in items[:known]]
        total = fold(tx, lambda first: SUM(values, first), [total])
        items = items[known:]
    for item in items:
        total = binary(tx, "+", total, item)
    return total


@ROWS.call(any)
def call_any(tx: TraceContext, iterable: Tracker, /) -> Tracker | PendingCall:
    """`any(iterable)`: stops at the first true item."""
    if runs_python(iterable):
        return _ANY_OF.bind(tx, (iterable,), {})
    return Constant(_search_items(tx, iterable, True))


@ROWS.call(all)
def call_all(tx: TraceContext, iterable: Tracker, /) -> Tracker | PendingCall:
    """`all(iterable)`: stops at the first false item."""
    if runs_python(iterable):
        return _ALL_OF.bind(tx, (iterable,), {})
    return Constant(not _search_items(tx, iterable, False))


def _search_items(tx: TraceContext, iterable: Tracker, wanted: bool) -> bool:
    iterator = iterable.iterate(tx).realize()
    while (item := iterator.advance(tx)) is not None:
        if known_truth(tx, item) == wanted:
            return True
    return False


@ROWS.call(min)
def call_min(
    tx: TraceContext,
    first: Tracker,
    /,
    *others: Tracker,
    key: Tracker | None = None,
    default: Tracker | None = None,
) -> Tracker | PendingCall:
    """`min(iterable)`, `min(a, b, ...)`."""
    return _extreme(tx, "min", "<", (first, *others), key, default)


@ROWS.call(max)
def call_max(
    tx: TraceContext,
    first: Tracker,
    /,
    *others: Tracker,
    key: Tracker | None = None,
    default: Tracker | None = None,
) -> Tracker | PendingCall:
    """`max(iterable)`, `max(a, b, ...)`."""
    return _extreme(tx, "max", ">", (first, *others), key, default)


def _extreme(
    tx: TraceContext,
    name: str,
    symbol: str,
    operands: Sequence[Tracker],
    key: Tracker | None,
    default: Tracker | None,
) -> Tracker | PendingCall:
    if len(operands) > 1 and default is not None:
        message = f"Cannot specify a default for {name}() with multiple positional arguments"
        raise_observed(tx, TypeError, message)
    if calls_python(key):
        given = TupleTracker(operands) if len(operands) > 1 else operands[0]
        otherwise = () if default is None else (default,)
        is_better = tx.wrap(_IS_BETTER[symbol], Pinned(_IS_BETTER[symbol], "is_better"))
        text = Constant(f"{name}() {EMPTY}")
        return _EXTREME.bind(tx, (given, key, is_better, text, *otherwise), {})
    items = list(operands) if len(operands) > 1 else unpack(tx, operands[0])
    if not items:
        if default is not None:
            return default
        raise_observed(tx, ValueError, f"{name}() {EMPTY}")
    number = extreme_of(tx, name, items) if key is None and len(items) > 1 else None
    if number is not None:
        return number
    best, best_key = items[0], _key_of(tx, key, items[0])
    for item in items[1:]:
        value = _key_of(tx, key, item)
        if known_compare(tx, symbol, value, best_key):
            best, best_key = item, value
    return best


def calls_python(key: Tracker | None) -> TypeGuard[Tracker]:
    """Whether a key function may need a frame of its own; key functions written in C are called at once."""
    return key is not None and key.realize().python_type in _PYTHON


def _key_of(tx: TraceContext, key: Tracker | None, item: Tracker) -> Tracker:
    return item if key is None or is_none(key) else key.call(tx, [item], {})


EMPTY: Final = find_error_text(min, ()).removeprefix("min() ")


@ROWS.call(sorted)
def call_sorted(
    tx: TraceContext, iterable: Tracker, /, *, key: Tracker | None = None, reverse: Tracker | None = None
) -> Tracker | PendingCall:
    """`sorted(iterable, key=, reverse=)`."""
    items = unpack(tx, iterable, asks=True)
    if calls_python(key):
        return _SORT_BY.bind(tx, (ListTracker(items), key, reverse or Constant(False)), {})
    sort_items(
        tx, items, lambda item: _key_of(tx, key, item), reverse is not None and known_truth(tx, reverse)
    )
    return ListTracker(items)


@ROWS.call(polyfills.sort_by_keys)
def call_sort_by_keys(tx: TraceContext, items: Tracker, keys: Tracker, reverse: Tracker) -> Tracker:
    """The items in the order of their keys, by the same comparisons as `list.sort`."""
    # the keys were computed by the polyfill, in the order of the items
    held, by = unpack(tx, items), iter(unpack(tx, keys))
    sort_items(tx, held, lambda item: next(by), known_truth(tx, reverse))
    return ListTracker(held)
