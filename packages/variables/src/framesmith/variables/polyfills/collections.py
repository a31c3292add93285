"""Polyfills of the C functions of `collections`: Python functions that are traced in their place."""

from collections.abc import Iterable, MutableMapping


def count_elements(mapping: MutableMapping[object, int], iterable: Iterable[object], /) -> None:
    """`collections._count_elements`, which `Counter` calls."""
    for item in iterable:
        try:
            number = mapping.get(item, 0)
        # An item that cannot be hashed. The error is raised outside of the handler, or it would have a context.
        except TypeError as error:
            raised = error
            break
        mapping[item] = number + 1
    else:
        return
    hash(item)  # without the sentence that a dict makes of its error from Python 3.14 on
    raise raised
