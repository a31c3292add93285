"""Rows for the constructors of `itertools`.

The iterators are in `builtin_types`: `itertools_types` and its neighbours.
"""

import itertools
import sys
from collections.abc import Iterable, Sequence
from typing import Final

from framesmith.guards.class_lookup import defines
from framesmith.variables.builtin_types.iterator_chains import FilterIterator, is_none, iterators
from framesmith.variables.builtin_types.iterators import TUPLE_ASKS, unpack
from framesmith.variables.builtin_types.itertools_combining import (
    AccumulateIterator,
    CompressIterator,
    LongestIterator,
    PairwiseIterator,
    PoolIterator,
    StarMapIterator,
)
from framesmith.variables.builtin_types.itertools_sharing import GroupByIterator, TeeIterator, TeeSource
from framesmith.variables.builtin_types.itertools_types import (
    ChainIterator,
    CountIterator,
    CycleIterator,
    RepeatIterator,
    SliceIterator,
    WhileIterator,
)
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.slot_rows import register
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import find_error_text
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.operations.index import index_of

ROWS: Final = Rows()

NONE = Constant(None)
ZERO = Constant(0)
ONE = Constant(1)

_CONVERSIONS: Final = ("__index__", "__int__", "__float__", "__complex__")

_NEGATIVE_REPEAT: Final = find_error_text(itertools.product, (), repeat=-1)
_NEGATIVE_R: Final = find_error_text(itertools.combinations, (), -1)
_NEGATIVE_PERMUTATION: Final = find_error_text(itertools.permutations, (), -1)
_NEGATIVE_N: Final = find_error_text(itertools.tee, (), -1)
_NO_INTEGER: Final = find_error_text(itertools.permutations, (), "")
_NO_NUMBER: Final = find_error_text(itertools.count, "")


def _size_of(tx: TraceContext, value: Tracker) -> int:
    """`operator.index(value)`; breaks the graph for a number that does not fit a C integer, which is an error."""
    size = index_of(tx, value)
    return size if abs(size) <= sys.maxsize else value.unsupported("use as a size")


def iterator_of(tx: TraceContext, iterable: Tracker) -> Tracker:
    """`iter(iterable)`."""
    return iterators(tx, [iterable])[0]


@ROWS.call(itertools.chain)
def call_chain(tx: TraceContext, *iterables: Tracker) -> Tracker:
    """`chain(*iterables)`."""
    return ChainIterator(iterator_of(tx, TupleTracker(iterables)))


@ROWS.call(itertools.chain.from_iterable)
def call_chain_from(tx: TraceContext, iterable: Tracker, /) -> Tracker:
    """`chain.from_iterable(iterable)`."""
    return ChainIterator(iterator_of(tx, iterable))


@ROWS.call(itertools.islice)
def call_islice(tx: TraceContext, iterable: Tracker, /, *limits: Tracker) -> Tracker:
    """`islice(iterable, stop)`, `islice(iterable, start, stop[, step])`."""
    if not 1 <= len(limits) <= 3:
        return iterable.unsupported("islice with these arguments")
    start, stop, step = (NONE, *limits, NONE) if len(limits) == 1 else (*limits, NONE)[:3]
    shown = [
        "" if not is_none(limit) and not defines(limit.python_type, "__index__") else None for limit in limits
    ]
    if "" in shown:
        # the interpreter is asked with a text in the place of what has no index
        raise_observed(tx, ValueError, find_error_text(itertools.islice, (), *shown))
    numbers = [None if is_none(limit) else _size_of(tx, limit) for limit in (start, stop, step)]
    # a ValueError, with a text that depends on which of them it is
    if any(number is not None and number < 0 for number in numbers) or numbers[2] == 0:
        return iterable.unsupported("islice with negative numbers")
    return SliceIterator(iterator_of(tx, iterable), numbers[0] or 0, numbers[1], numbers[2] or 1)


@ROWS.call(itertools.count)
def call_count(tx: TraceContext, start: Tracker = ZERO, step: Tracker = ONE) -> Tracker:
    """`count(start, step)`."""
    for number in (start, step):
        if not any(defines(number.python_type, name) for name in _CONVERSIONS):
            raise_observed(tx, TypeError, _NO_NUMBER)
    return CountIterator(start, step)


@ROWS.call(itertools.repeat)
def call_repeat(tx: TraceContext, object: Tracker, times: Tracker | None = None) -> Tracker:
    """`repeat(object[, times])`."""
    return RepeatIterator(object, None if times is None else max(_size_of(tx, times), 0))


@ROWS.call(itertools.cycle)
def call_cycle(tx: TraceContext, iterable: Tracker, /) -> Tracker:
    """`cycle(iterable)`."""
    return CycleIterator(iterator_of(tx, iterable))


@ROWS.call(itertools.takewhile)
def call_takewhile(tx: TraceContext, test: Tracker, iterable: Tracker, /) -> Tracker:
    """`takewhile(test, iterable)`."""
    return WhileIterator(test, iterator_of(tx, iterable), itertools.takewhile)


@ROWS.call(itertools.dropwhile)
def call_dropwhile(tx: TraceContext, test: Tracker, iterable: Tracker, /) -> Tracker:
    """`dropwhile(test, iterable)`."""
    return WhileIterator(test, iterator_of(tx, iterable), itertools.dropwhile)


@ROWS.call(itertools.filterfalse)
def call_filterfalse(tx: TraceContext, test: Tracker, iterable: Tracker, /) -> Tracker:
    """`filterfalse(test, iterable)`."""
    return FilterIterator(test, iterator_of(tx, iterable), itertools.filterfalse, False)


@ROWS.call(itertools.starmap)
def call_starmap(tx: TraceContext, function: Tracker, iterable: Tracker, /) -> Tracker:
    """`starmap(function, iterable)`."""
    return StarMapIterator(function, iterator_of(tx, iterable))


@ROWS.call(itertools.pairwise)
def call_pairwise(tx: TraceContext, iterable: Tracker, /) -> Tracker:
    """`pairwise(iterable)`."""
    return PairwiseIterator(iterator_of(tx, iterable))


@ROWS.call(itertools.accumulate)
def call_accumulate(
    tx: TraceContext, iterable: Tracker, func: Tracker | None = None, *, initial: Tracker | None = None
) -> Tracker:
    """`accumulate(iterable, func, initial=)`."""
    function = None if is_none(func) else func
    return AccumulateIterator(iterator_of(tx, iterable), function, None if is_none(initial) else initial)


@ROWS.call(itertools.zip_longest)
def call_zip_longest(tx: TraceContext, *iterables: Tracker, fillvalue: Tracker = NONE) -> Tracker:
    """`zip_longest(*iterables, fillvalue=None)`."""
    return LongestIterator(iterators(tx, iterables), fillvalue)


@ROWS.call(itertools.compress)
def call_compress(tx: TraceContext, data: Tracker, selectors: Tracker) -> Tracker:
    """`compress(data, selectors)`."""
    return CompressIterator(*iterators(tx, [data, selectors]))


@ROWS.call(itertools.product)
def call_product(tx: TraceContext, *iterables: Tracker, repeat: Tracker = ONE) -> Tracker:
    """`product(*iterables, repeat=1)`."""
    times = _size_of(tx, repeat)
    if times < 0:
        raise_observed(tx, ValueError, _NEGATIVE_REPEAT)
    # read once, and repeated after that
    pools = [tuple(unpack(tx, iterable, asks=TUPLE_ASKS)) for iterable in iterables] * times
    # over indices: the real iterator gives CPython's order without comparing items
    rows = itertools.product(*[range(len(pool)) for pool in pools])
    return PoolIterator(itertools.product, rows, pools, "{make}({0})")


@ROWS.call(itertools.permutations)
def call_permutations(tx: TraceContext, iterable: Tracker, r: Tracker = NONE) -> Tracker:
    """`permutations(iterable, r=None)`."""
    pool = tuple(unpack(tx, iterable, asks=TUPLE_ASKS))
    if not is_none(r) and not issubclass(r.python_type, int):
        raise_observed(tx, TypeError, _NO_INTEGER)
    size = len(pool) if is_none(r) else _size_of(tx, r)
    if size < 0:
        raise_observed(tx, ValueError, _NEGATIVE_PERMUTATION)
    return _choices(itertools.permutations, itertools.permutations(range(len(pool)), size), pool, size)


@ROWS.call(itertools.combinations)
def call_combinations(tx: TraceContext, iterable: Tracker, r: Tracker) -> Tracker:
    """`combinations(iterable, r)`."""
    pool, size = _pool_and_size(tx, iterable, r)
    return _choices(itertools.combinations, itertools.combinations(range(len(pool)), size), pool, size)


@ROWS.call(itertools.combinations_with_replacement)
def call_combinations_with(tx: TraceContext, iterable: Tracker, r: Tracker) -> Tracker:
    """`combinations_with_replacement(iterable, r)`."""
    pool, size = _pool_and_size(tx, iterable, r)
    kind = itertools.combinations_with_replacement
    return _choices(kind, kind(range(len(pool)), size), pool, size)


def _refuses_first() -> bool:
    """Whether `combinations` refuses a negative size before it takes the items."""
    items = iter((None,))
    try:
        itertools.combinations(items, -1)
    except ValueError:
        return any(True for _ in items)
    raise AssertionError("combinations takes a negative size")


_REFUSES_FIRST: Final = _refuses_first()


def _pool_and_size(tx: TraceContext, iterable: Tracker, r: Tracker) -> tuple[tuple[Tracker, ...], int]:
    """The items, and how many are chosen; that is read first, and whether it is negative asked last (since 3.15 first)."""
    size = _size_of(tx, r)
    if size < 0 and _REFUSES_FIRST:
        raise_observed(tx, ValueError, _NEGATIVE_R)
    pool = tuple(unpack(tx, iterable, asks=TUPLE_ASKS))
    if size < 0:
        raise_observed(tx, ValueError, _NEGATIVE_R)
    return pool, size


def _choices(cls: type, rows: Iterable[tuple[int, ...]], pool: Sequence[Tracker], size: int) -> Tracker:
    """The iterator over choices from one pool, which serves every
    position. At least one pool, since reconstruction writes it."""
    return PoolIterator(cls, iter(rows), [pool] * max(size, 1), f"{{make}}({{0}}, {size})")


@ROWS.call(itertools.groupby)
def call_groupby(tx: TraceContext, iterable: Tracker, key: Tracker | None = None) -> Tracker:
    """`groupby(iterable, key=None)`."""
    return GroupByIterator(iterator_of(tx, iterable), None if is_none(key) else key)


@ROWS.call(itertools.tee)
def call_tee(tx: TraceContext, iterable: Tracker, n: Tracker | None = None, /) -> Tracker:
    """`tee(iterable, n=2)`."""
    count = 2 if n is None else _size_of(tx, n)
    if count < 0:
        raise_observed(tx, ValueError, _NEGATIVE_N)
    # CPython copies such an iterator, which then shares the items read so far
    if iterable.python_type is TEE:
        return iterable.unsupported("tee of a tee")
    shared = TeeSource(iterator_of(tx, iterable), count)
    return TupleTracker([TeeIterator(shared, number) for number in range(count)])


TEE: type = type(itertools.tee(())[0])
for _name in dir(itertools):
    _kind = getattr(itertools, _name)
    if isinstance(_kind, type) and hasattr(_kind, "__next__"):
        register(ROWS, _kind, ("__iter__", "__next__"))
