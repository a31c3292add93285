"""Polyfills of the C functions of `bisect`: Python functions that are traced in their place."""

import bisect
from collections.abc import Callable, MutableSequence
from typing import Final, Protocol

from framesmith.variables.core.cpython_messages import find_error_text

NEGATIVE_LO: Final = find_error_text(bisect.bisect_left, (), 0, -1)


class Ordered(Protocol):
    """A value that defines `<`."""

    def __lt__(self, other: object, /) -> object: ...


Key = Callable[[Ordered], Ordered]


def bisect_right(
    a: MutableSequence[Ordered], x: Ordered, lo: int = 0, hi: int | None = None, *, key: Key | None = None
) -> int:
    """`bisect.bisect_right`."""
    if lo < 0:
        raise ValueError(NEGATIVE_LO)
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        # Only `<` is asked, with the operands in CPython's order: `bisect_right` has the new item on the left.
        if x < (a[middle] if key is None else key(a[middle])):
            hi = middle
        else:
            lo = middle + 1
    return lo


def bisect_left(
    a: MutableSequence[Ordered], x: Ordered, lo: int = 0, hi: int | None = None, *, key: Key | None = None
) -> int:
    """`bisect.bisect_left`."""
    if lo < 0:
        raise ValueError(NEGATIVE_LO)
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        if (a[middle] if key is None else key(a[middle])) < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


def insort_right(
    a: MutableSequence[Ordered], x: Ordered, lo: int = 0, hi: int | None = None, *, key: Key | None = None
) -> None:
    """`bisect.insort_right`."""
    # The key of the new item is computed here, once, as `bisect_*` takes it ready-made.
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


def insort_left(
    a: MutableSequence[Ordered], x: Ordered, lo: int = 0, hi: int | None = None, *, key: Key | None = None
) -> None:
    """`bisect.insort_left`."""
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)
