"""Polyfills of the C functions of `collections`: Python functions that are traced in their place."""

from collections.abc import Iterable, MutableMapping


def count_elements(mapping: MutableMapping[object, int], iterable: Iterable[object], /) -> None:
    """`collections._count_elements`, which `Counter` calls."""
    for item in iterable:
        mapping[item] = mapping.get(item, 0) + 1
