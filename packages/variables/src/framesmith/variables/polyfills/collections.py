"""Python forms of the C functions of `collections`; they are traced in place of the originals."""

from collections.abc import Iterable, MutableMapping


def count_elements(mapping: MutableMapping[object, int], iterable: Iterable[object], /) -> None:
    """`collections._count_elements`, what `Counter` counts with."""
    for item in iterable:
        mapping[item] = mapping.get(item, 0) + 1
