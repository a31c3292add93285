"""Keys that the trace must not look at: numbers and texts that are other ones in each round of a loop.

What is stored under one in an existing dict or set, of which nobody has read more than single keys, is stored when
the entry has run. Nothing may be asked of the container after that: the key may be any.
"""

import enum
from collections.abc import Iterable
from typing import Final

from framesmith.guards.comparison import is_plain_constant
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core.base import Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.restless import unsettled

_QUIET: Final = frozenset({str, bytes, int, float, complex})


def is_unread_key(key: Tracker) -> bool:
    """Whether the value of a key must not be asked for."""
    if isinstance(key, TupleTracker):
        return any(is_unread_key(item.realize()) for item in key.items)
    return key.is_unread or (key.is_run_time_number and not key.is_python_constant())


def is_quiet_key(key: Tracker) -> bool:
    """Whether hashing and comparing a key runs no code of the user's and never fails."""
    if isinstance(key, TupleTracker):
        return key.python_type is tuple and all(is_quiet_key(item.realize()) for item in key.items)
    if isinstance(key, Constant):
        return is_quiet(key.value)
    return is_unread_key(key) and (key.python_type in _QUIET or _is_quiet_class(key.python_type))


def is_quiet(value: object) -> bool:
    """The same for an existing key."""
    if type(value) is tuple:
        return all(is_quiet(item) for item in value)
    return value is None or is_plain_constant(value) or _is_quiet_class(type(value))


def check_storable(key: Tracker, existing: Iterable[object] | None) -> None:
    """Break where the key cannot be stored unseen, among these keys; None stands for a container that has to be read."""
    if existing is None or not is_quiet_key(key) or not all(map(is_quiet, existing)):
        unsettled(key.describe())


def _is_quiet_class(kind: type) -> bool:
    """An enumeration that leaves hash and equality alone."""
    hashes: tuple[object, ...] = (object.__hash__, enum.Enum.__hash__)
    return issubclass(kind, enum.Enum) and kind.__hash__ in hashes and kind.__eq__ is object.__eq__
