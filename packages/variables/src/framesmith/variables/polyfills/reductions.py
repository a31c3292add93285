"""Python forms of `min`, `max` and `sorted` with a key: the key function is called from a Python frame."""

from collections.abc import Callable, Iterable
from typing import Any

MISSING = object()


def minimum(
    iterable: Iterable[Any],
    key: Callable[[Any], Any],  # any user function
    message: str,
    default: object = MISSING,
) -> object:
    """`min(iterable, key=key, default=default)`; `message` is for an iterable without items."""
    iterator = iter(iterable)
    best = next(iterator, MISSING)
    if best is MISSING:
        if default is MISSING:
            raise ValueError(message)
        return default
    least = key(best)
    for item in iterator:
        value = key(item)
        if value < least:
            best, least = item, value
    return best


def maximum(
    iterable: Iterable[Any],
    key: Callable[[Any], Any],  # any user function
    message: str,
    default: object = MISSING,
) -> object:
    """`max(iterable, key=key, default=default)`."""
    iterator = iter(iterable)
    best = next(iterator, MISSING)
    if best is MISSING:
        if default is MISSING:
            raise ValueError(message)
        return default
    greatest = key(best)
    for item in iterator:
        value = key(item)
        if value > greatest:
            best, greatest = item, value
    return best


def sort_by(items: list[Any], key: Callable[[Any], Any], reverse: object) -> list[Any]:
    """`sorted(items, key=key, reverse=reverse)`."""
    keys = []
    for item in items:
        keys.append(key(item))  # a frame less than a comprehension has on 3.11
    return arranged(items, keys, reverse)


def arranged(items: list[Any], keys: list[Any], reverse: object) -> list[Any]:
    """The items in the order of their keys."""
    order = sorted(range(len(items)), key=keys.__getitem__, reverse=bool(reverse))
    return [items[index] for index in order]
