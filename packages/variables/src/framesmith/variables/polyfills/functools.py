"""Polyfills of C functions of `functools`: Python functions that are traced in their place."""

from collections.abc import Callable, Iterable
from typing import Any

# None is a value that may be given. Loops over an iterator ask `next`, not `for`, which would call its `__iter__` once more.
MISSING = object()


def reduce(
    function: Callable[[Any, Any], Any],  # any user function
    iterable: Iterable[object],
    initial: object = MISSING,
    /,
) -> object:
    """`functools.reduce`."""
    try:
        iterator = iter(iterable)
    except TypeError:
        iterator = None  # what is raised below has no context
    if iterator is None:
        raise TypeError("reduce() arg 2 must support iteration")
    if initial is MISSING:
        value = next(iterator, MISSING)
        if value is MISSING:
            raise TypeError("reduce() of empty iterable with no initial value")
    else:
        value = initial
    while (item := next(iterator, MISSING)) is not MISSING:
        value = function(value, item)
    return value


class ComparisonKey:
    """The object that `cmp_to_key(compare)` returns for a value; its comparisons call `compare`."""

    # `obj` is an attribute of CPython's key objects, too.
    __slots__ = ("_compare", "obj")
    __hash__ = None  # type: ignore[assignment]  # as the original

    def __init__(self, obj: object, compare: Callable[[Any, Any], Any]) -> None:
        self.obj = obj
        self._compare = compare

    def __lt__(self, other: "ComparisonKey") -> object:
        return self._compare(self.obj, other.obj) < 0

    def __gt__(self, other: "ComparisonKey") -> object:
        return self._compare(self.obj, other.obj) > 0

    def __eq__(self, other: "ComparisonKey") -> object:  # type: ignore[override]
        return self._compare(self.obj, other.obj) == 0

    def __le__(self, other: "ComparisonKey") -> object:
        return self._compare(self.obj, other.obj) <= 0

    def __ge__(self, other: "ComparisonKey") -> object:
        return self._compare(self.obj, other.obj) >= 0


def cmp_to_key(mycmp: Callable[[Any, Any], Any]) -> Callable[[object], ComparisonKey]:
    """`functools.cmp_to_key`."""

    def key(obj: object) -> ComparisonKey:
        return ComparisonKey(obj, mycmp)

    return key
