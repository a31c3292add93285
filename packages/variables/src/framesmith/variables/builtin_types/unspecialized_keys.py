"""Unspecialized keys (ADR 0010): numbers and texts that change with each iteration, which the trace must not read.

A store under such a key in an existing dict or set, of which only single keys were read before, is made after the
graph. The trace can ask nothing of the container after that, since the key may equal any other.
"""

import enum
from collections.abc import Iterable
from typing import Final

from framesmith.guards.class_lookup import overrides
from framesmith.guards.comparison import is_plain_constant
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core.base import Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.unspecialized import break_on_changing_value

_BUILTIN_HASH: Final = frozenset({str, bytes, int, float, complex})


def is_unspecialized_key(key: Tracker) -> bool:
    """Whether a key, or an item of a tuple key, is unspecialized: the trace must not read its value."""
    if isinstance(key, TupleTracker):
        return any(is_unspecialized_key(item.realize()) for item in key.items)
    return key.is_unread or (key.is_run_time_number and not key.is_python_constant())


def is_key_with_builtin_hash(key: Tracker) -> bool:
    """Whether hashing and comparing a key never fails and runs no code of the user."""
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
    """As `is_key_with_builtin_hash`, for the value of an existing key."""
    if type(value) is tuple:
        return all(has_builtin_hash(item) for item in value)
    return value is None or is_plain_constant(value) or _is_class_with_builtin_hash(type(value))


def check_storable(key: Tracker, existing: Iterable[object] | None) -> None:
    """Break the graph unless the key can be stored unread beside
    these keys. None means a container that does not allow it."""
    # a store beside a key of the user might call its `__eq__`, out of turn
    if existing is None or not is_key_with_builtin_hash(key) or not all(map(has_builtin_hash, existing)):
        break_on_changing_value(key.describe())


def _is_class_with_builtin_hash(cls: type) -> bool:
    """Whether this is an enumeration that does not override hash and equality."""
    if not issubclass(cls, enum.Enum) or overrides(cls, object, "__eq__"):
        return False
    return not overrides(cls, object, "__hash__") or not overrides(cls, enum.Enum, "__hash__")
