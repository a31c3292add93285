"""Polyfills of builtins that call Python code: a key function, or the iterator of an iterable."""

import operator
from collections.abc import Callable, Iterable
from typing import Any

MISSING = object()


def extreme(
    iterable: Iterable[Any],
    key: Callable[[Any], Any],  # any user function
    is_better: Callable[[Any, Any], Any],
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
    for item in iterator:
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
    for item in iterator:
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


def sort_by(items: list[Any], key: Callable[[Any], Any], reverse: object) -> list[Any]:
    """`sorted(items, key=key, reverse=reverse)`."""
    keys = []
    for item in items:
        keys.append(key(item))  # a frame less than a comprehension has on 3.11
    return sort_by_keys(items, keys, reverse)


def sort_by_keys(items: list[Any], keys: list[Any], reverse: object) -> list[Any]:
    """The items in the order of their keys; modelled by a row, so that it is not traced itself."""
    order = sorted(range(len(items)), key=keys.__getitem__, reverse=bool(reverse))
    return [items[index] for index in order]
