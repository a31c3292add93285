"""Python forms of the C functions of `collections`; they are traced in place of the originals."""

from collections.abc import Iterable
from typing import Any


def count_elements(mapping: Any, iterable: Iterable[Any], /) -> None:
    """`collections._count_elements`, what `Counter` counts with."""
    for item in iterable:
        mapping[item] = mapping.get(item, 0) + 1
