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
from framesmith.variables.core.unspecialized import cannot_specialize

_BUILTIN_HASH: Final = frozenset({str, bytes, int, float, complex})


def is_unspecialized_key(key: Tracker) -> bool:
    """Whether the value of a key must not be asked for."""
    if isinstance(key, TupleTracker):
        return any(is_unspecialized_key(item.realize()) for item in key.items)
    return key.is_unread or (key.is_run_time_number and not key.is_python_constant())


def is_key_with_builtin_hash(key: Tracker) -> bool:
    """Whether hashing and comparing a key runs no code of the user's and never fails."""
    if isinstance(key, TupleTracker):
        return key.python_type is tuple and all(
            is_key_with_builtin_hash(item.realize()) for item in key.items
        )
    if isinstance(key, Constant):
        return has_builtin_hash(key.value)
    return is_unspecialized_key(key) and (
        key.python_type in _BUILTIN_HASH or _is_class_with_builtin_hash(key.python_type)
    )


def has_builtin_hash(value: object) -> bool:
    """The same for an existing key."""
    if type(value) is tuple:
        return all(has_builtin_hash(item) for item in value)
    return value is None or is_plain_constant(value) or _is_class_with_builtin_hash(type(value))


def check_storable(key: Tracker, existing: Iterable[object] | None) -> None:
    """Break where the key cannot be stored unseen, among these keys; None stands for a container that has to be read."""
    if existing is None or not is_key_with_builtin_hash(key) or not all(map(has_builtin_hash, existing)):
        cannot_specialize(key.describe())


def _is_class_with_builtin_hash(kind: type) -> bool:
    """An enumeration that leaves hash and equality alone."""
    hashes: tuple[object, ...] = (object.__hash__, enum.Enum.__hash__)
    return issubclass(kind, enum.Enum) and kind.__hash__ in hashes and kind.__eq__ is object.__eq__
