"""Whether the version of a dictionary changes with each change of it, proved by a self-test at import (ADR 0008).

Up to CPython 3.11 a dictionary carries a version number; later ones let torch watch it and number the changes it is told
of. CPython 3.13 keeps silent where an attribute is stored into the inline values of an instance whose `__dict__` exists:
such a dictionary changes and its number does not.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, cast

from framesmith.guards.torch_adapter import dict_version

_STORES: Final = 100
"""So many that the interpreter has specialized the instruction that stores."""

Names = dict[object, object]


def _numbers_differ(names: Names, changes: tuple[Callable[[], object], ...]) -> bool:
    """Whether each of the changes gives the dictionary a number that it never had."""
    seen = [dict_version(names)]
    for change in changes:
        change()
        seen.append(dict_version(names))
    return len(set(seen)) == len(seen)


def _counts_changes() -> bool:
    """The ways to change a dictionary that is no instance's."""
    names: Names = {}

    def merge() -> None:
        nonlocal names
        names |= {"d": 4}

    return _numbers_differ(
        names,
        (
            lambda: names.__setitem__("a", 1),
            lambda: names.__setitem__("a", 2),
            lambda: names.update(b=2),
            lambda: names.setdefault("c", 3),
            merge,
            lambda: names.pop("a"),
            lambda: names.__delitem__("b"),
            names.popitem,
            names.clear,
        ),
    )


def _counts_attributes() -> bool:
    """Stores and deletions of the attributes of an instance whose dictionary was asked for."""

    class Holder:
        first: object
        second: object

    holder = Holder()
    holder.first = holder.second = None
    names = cast("Names", vars(holder))

    def store(value: int) -> None:
        holder.first = value

    return _numbers_differ(
        names,
        (
            *(partial(store, value) for value in range(_STORES)),
            lambda: setattr(holder, "second", 1),
            lambda: delattr(holder, "second"),
            lambda: setattr(holder, "third", 1),
        ),
    )


USABLE: Final = _counts_changes()
ALSO_OF_INSTANCES: Final = USABLE and _counts_attributes()
"""Whether a dictionary may be any that a program can hold, one of an instance included."""
