"""Rows for the builtins that consume an iterable: `sum`, `math.prod`, `min`, `max`, `any`, `all`, `sorted`.

`len`, `iter` and other builtins are in `callables.builtin_functions`.
"""

import functools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from types import FunctionType, MethodType
from typing import Final, TypeGuard

import torch

from framesmith.guards.class_lookup import static_lookup
from framesmith.guards.sources import Pinned
from framesmith.variables.builtin_types.iterator_chains import MapIterator, is_none
from framesmith.variables.builtin_types.iterators import take_items, unpack
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
from framesmith.variables.core.registry import Table
from framesmith.variables.core.rows import Rows
from framesmith.variables.operations.binary import binary
from framesmith.variables.operations.index import known_compare
from framesmith.variables.operations.truth import known_truth
from framesmith.variables.polyfills import reductions as polyfills
from framesmith.variables.symbolic_numbers.math_functions import extreme_of

ROWS: Final = Rows()

_ALL_OF: Final = polyfill_function(polyfills.all_of)
_ANY_OF: Final = polyfill_function(polyfills.any_of)
_EXTREME_IN_ORDER: Final = polyfill_function(polyfills.extreme_in_order)
_EXTREMES: Final[dict[str, Callable[..., object]]] = {"min": min, "max": max}
_EXTREME: Final = polyfill_function(polyfills.extreme)
_IS_BETTER: Final = {"<": operator.lt, ">": operator.gt}
_PYTHON: Final = (FunctionType, MethodType, functools.partial)
_PROD_OF: Final = polyfill_function(polyfills.prod_of)
_SUM_OF: Final = polyfill_function(polyfills.sum_of)
_SORT_BY: Final = polyfill_function(polyfills.sort_by)
_GATHERED: Final = polyfill_function(polyfills.call_with_items)
_GATHERED_ASKED: Final = polyfill_function(polyfills.call_with_counted_items)
_LENGTHS: Final = ("__len__", "__length_hint__")
_RANKS: Final = (int, float, complex)
"""The types of sums that C code adds numbers to by itself, in the order in which it goes on from one to the next."""
_NUMBERS: Final = (*_RANKS, bool)
_ORDERED: Final = (int, float, bool)
SUM: Final[Callable[..., object]] = sum


EXTREMES: Final = Table[type[Tracker], Callable[[TraceContext, str, Sequence[Tracker]], Tracker | None]](
    "min and max of trackers"
)
"""`min(a, b)` and `max(a, b)` where one of the operands is of a class; None where they are compared as any others."""


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
        return _SUM_OF.bind(tx, (iterable, total), {})
    items = (item.realize() for item in take_items(tx, iterable))
    # only numbers at the beginning: the additions have to keep their order
    numbers = list[Tracker]()
    while (item := next(items, None)) is not None:
        if total.python_type in _RANKS and item.python_type in _NUMBERS:
            numbers.append(item)
            continue
        before = _sum_numbers(tx, total, numbers)
        total, numbers = binary(tx, "+", before, item).realize(), []
        if not _goes_on_with_numbers(before, total):
            break
    total = _sum_numbers(tx, total, numbers)
    for item in items:
        total = binary(tx, "+", total, item)
    return total


def _sum_numbers(tx: TraceContext, total: Tracker, numbers: Sequence[Tracker]) -> Tracker:
    """The sum of a number and others, which change from call to call or not."""
    given = (total, *numbers)
    # a compensated sum is no chain of additions, so the numbers are read
    if any(one.python_type in (float, complex) for one in numbers) or not any(
        one.is_run_time_number for one in given
    ):
        values = [one.as_python_constant() for one in numbers]
        first = Constant(total.as_python_constant()) if total.is_run_time_number else total
        return fold(tx, lambda start: SUM(values, start), [first]) if values else total
    for number in numbers:
        total = binary(tx, "+", total, number)
    return total


def _goes_on_with_numbers(before: Tracker, total: Tracker) -> bool:
    """Whether C code adds numbers again after an item that is none: it goes on from ints to floats, and so on."""
    kinds = (before.python_type, total.python_type)
    return all(kind in _RANKS for kind in kinds) and _RANKS.index(kinds[0]) < _RANKS.index(kinds[1])


@ROWS.call(math.prod)
def call_prod(
    tx: TraceContext, iterable: Tracker, /, *, start: Tracker | None = None
) -> Tracker | PendingCall:
    """`math.prod(iterable, start=1)`: a chain of multiplications, also where C code multiplies the numbers."""
    total: Tracker = Constant(1) if start is None else start
    if runs_python(iterable):
        return _PROD_OF.bind(tx, (iterable, total), {})
    items = [item.realize() for item in take_items(tx, iterable)]
    if _are_known(total, *items):
        return fold(tx, lambda first, *others: math.prod(others, start=first), [total, *items])
    return functools.reduce(functools.partial(binary, tx, "*"), items, total)


@ROWS.call(torch.Size.numel)
def call_numel(tx: TraceContext, self: TupleTracker, /) -> Tracker:
    """`x.shape.numel()`."""
    items = [item.realize() for item in self.items]
    if _are_known(*items):
        return fold(tx, torch.Size.numel, [self])
    return functools.reduce(functools.partial(binary, tx, "*"), items)


def _are_known(*values: Tracker) -> bool:
    return all(one.is_python_constant() and not one.is_run_time_number for one in values)


@ROWS.call(polyfills.keep_number)
def call_keep_number(tx: TraceContext, numbers: ListTracker, item: Tracker, ordered: Constant) -> Tracker:
    """Append a number to the list of the polyfill, and say whether it is one."""
    is_number = item.python_type in (_ORDERED if ordered.value else _NUMBERS)
    if is_number:
        numbers.append(tx, item)
    return Constant(is_number)


@ROWS.call(polyfills.goes_on_with_numbers)
def call_goes_on_with_numbers(tx: TraceContext, before: Tracker, total: Tracker) -> Tracker:
    """Whether `sum` adds numbers in C again after an item that is none."""
    return Constant(_goes_on_with_numbers(before, total))


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
    plain = key is None or is_none(key)
    if calls_python(key) or (plain and len(operands) == 1 and runs_python(operands[0])):
        given = TupleTracker(operands) if len(operands) > 1 else operands[0]
        otherwise = () if default is None else (default,)
        is_better = tx.wrap(_IS_BETTER[symbol], Pinned(_IS_BETTER[symbol], "is_better"))
        text = Constant(f"{name}() {EMPTY}")
        if calls_python(key):
            return _EXTREME.bind(tx, (given, key, is_better, text, *otherwise), {})
        builtin = Builtin(_EXTREMES[name])
        return _EXTREME_IN_ORDER.bind(tx, (given, builtin, is_better, text, *otherwise), {})
    items = iter(operands) if len(operands) > 1 else take_items(tx, operands[0])
    if plain and len(operands) > 1:
        for kind, extreme in tx.registry[EXTREMES].items():
            if any(isinstance(one.realize(), kind) for one in operands):
                found = extreme(tx, name, [one.realize() for one in operands])
                if found is not None:
                    return found
    first = next(items, None)
    if first is None:
        if default is not None:
            return default
        raise_observed(tx, ValueError, f"{name}() {EMPTY}")
    if plain:
        return _extreme_in_order(tx, name, symbol, first, items)
    best, best_key = first, _key_of(tx, key, first)
    for item in items:
        value = _key_of(tx, key, item)
        if known_compare(tx, symbol, value, best_key):
            best, best_key = item, value
    return best


def _extreme_in_order(
    tx: TraceContext, name: str, symbol: str, first: Tracker, items: Iterator[Tracker]
) -> Tracker:
    # numbers at the beginning are compared together, since nobody sees their order
    numbers, rest = [first], list[Tracker]()
    while not rest and numbers[-1].python_type in _ORDERED and (item := next(items, None)) is not None:
        (numbers if item.python_type in _ORDERED else rest).append(item)
    found = extreme_of(tx, name, numbers) if len(numbers) > 1 else None
    if found is not None:
        numbers = [found]
    best = numbers[0]
    for item in chain(numbers[1:], rest, items):
        if known_compare(tx, symbol, item, best):
            best = item
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
