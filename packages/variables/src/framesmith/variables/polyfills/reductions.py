"""Polyfills of builtins that call Python code: a key function, or the iterator of an iterable."""

import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

Value: TypeAlias = Any  # any value of the program
# Loops over an iterator ask `next`, not `for`, which would call its `__iter__` once more.
MISSING: Value = object()


def extreme(
    iterable: Iterable[Value],
    key: Callable[[Value], Value],  # any user function
    is_better: Callable[[Value, Value], Value],
    message: str,
    default: object = MISSING,
) -> object:
    """`min` and `max` with a key; `is_better` compares two keys,
    `message` is that of the error for an empty iterable."""
    iterator = iter(iterable)
    best = next(iterator, MISSING)
    if best is MISSING:
        if default is MISSING:
            raise ValueError(message)
        return default
    best_key = key(best)
    while (item := next(iterator, MISSING)) is not MISSING:
        value = key(item)
        # Strictly better: of equal items the first one stays.
        if is_better(value, best_key):
            best, best_key = item, value
    return best


def call_with_items(iterable: Iterable[object], then: Callable[..., object], *more: object) -> object:
    """`then(iterable, *more)` for a callable that reads all items first."""
    items: list[object] = []
    for item in iterable:
        items.append(item)
    return then(items, *more)


def call_with_counted_items(iterable: Iterable[object], then: Callable[..., object], *more: object) -> object:
    """The same for one that asks for the length first, to allocate memory for the items."""
    # First, then the length, as `list(iterable)` does: both may be code of the user.
    iterator = iter(iterable)
    operator.length_hint(iterable)
    items: list[object] = []
    while (item := next(iterator, MISSING)) is not MISSING:
        items.append(item)
    return then(items, *more)


def any_of(iterable: Iterable[object]) -> bool:
    """`any(iterable)`."""
    for item in iterable:  # noqa: SIM110  # it is the form of what the rule proposes
        if item:
            return True
    return False


def all_of(iterable: Iterable[object]) -> bool:
    """`all(iterable)`."""
    for item in iterable:  # noqa: SIM110  # it is the form of what the rule proposes
        if not item:
            return False
    return True


def count_of(iterable: Iterable[object], value: object) -> int:
    """`operator.countOf(iterable, value)`."""
    found = 0
    for item in iterable:
        if value in (item,):  # the same object, or equal
            found += 1
    return found


def index_of(iterable: Iterable[object], value: object, message: str) -> int:
    """`operator.indexOf(iterable, value)`; `message` is that of its error."""
    place = 0
    for item in iterable:
        if value in (item,):
            return place
        place += 1  # noqa: SIM113  # `enumerate` would be one more object of the trace
    raise ValueError(message)


def keep_number(numbers: list[Value], item: object, ordered: bool) -> bool:
    """Append an item that C code adds (with `ordered`: compares) without code of the program, and say whether it is one;
    modelled by a row."""
    is_number = type(item) in (int, float, bool) or (not ordered and type(item) is complex)
    if is_number:
        numbers.append(item)
    return is_number


def goes_on_with_numbers(before: object, total: object) -> bool:
    """Whether `sum` adds numbers in C again after an item that is none; modelled by a row."""
    ranks = (int, float, complex)
    numbers = type(before) in ranks and type(total) in ranks
    return numbers and ranks.index(type(before)) < ranks.index(type(total))


def sum_of(iterable: Iterable[Value], total: Value) -> Value:
    """`sum(iterable, total)`: numbers at the beginning are added by `sum` itself, which compensates errors of floats."""
    iterator = iter(iterable)
    numbers: list[Value] = []
    if type(total) in (int, float, complex):
        while (item := next(iterator, MISSING)) is not MISSING:
            if not keep_number(numbers, item, False):
                before = sum(numbers, total)
                total = before + item
                numbers = []
                if not goes_on_with_numbers(before, total):
                    break
        else:
            return sum(numbers, total)
    while (item := next(iterator, MISSING)) is not MISSING:
        total = total + item
    return total


def prod_of(iterable: Iterable[Value], total: Value) -> Value:
    """`math.prod(iterable, start=total)`."""
    for item in iterable:
        total = total * item  # `*=` would ask for another method
    return total


def extreme_in_order(
    iterable: Iterable[Value],
    extreme_of: Callable[[list[Value]], Value],  # `min` or `max`
    is_better: Callable[[Value, Value], Value],
    message: str,
    default: object = MISSING,
) -> object:
    """`min` and `max` without a key: numbers at the beginning are compared by the builtin itself."""
    iterator = iter(iterable)
    numbers: list[Value] = []
    while (item := next(iterator, MISSING)) is not MISSING:
        if not keep_number(numbers, item, True):
            best = extreme_of(numbers) if numbers else item
            if numbers and is_better(item, best):
                best = item
            break
    else:
        if numbers:
            return extreme_of(numbers)
        if default is MISSING:
            raise ValueError(message)
        return default
    while (item := next(iterator, MISSING)) is not MISSING:
        if is_better(item, best):
            best = item
    return best


def sort_by(items: list[Value], key: Callable[[Value], Value], reverse: object) -> list[Value]:
    """`sorted(items, key=key, reverse=reverse)`."""
    keys = []
    for item in items:
        keys.append(key(item))  # a frame less than a comprehension has on 3.11
    return sort_by_keys(items, keys, reverse)


def sort_by_keys(items: list[Value], keys: list[Value], reverse: object) -> list[Value]:
    """The items in the order of their keys; modelled by a row, so that it is not traced itself."""
    order = sorted(range(len(items)), key=keys.__getitem__, reverse=bool(reverse))
    return [items[index] for index in order]
