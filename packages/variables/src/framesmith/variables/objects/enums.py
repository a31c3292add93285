"""Enumerations: calling, subscripting and iterating over an `Enum` class. Members are constants.

Enumerations that pybind11 made are in `objects.native_enums`.
"""

import enum
from enum import EnumMeta
from typing import Final

from framesmith.guards.class_lookup import MISSING, comes_first, static_lookup
from framesmith.guards.comparison import is_plain_constant
from framesmith.guards.kinds import HasInstanceAttribute, TypeIs
from framesmith.guards.sources import InstanceItem
from framesmith.variables.builtin_types.constants import CONSTANT_ATTRIBUTES
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core.attribute_errors import missing_attribute
from framesmith.variables.core.base import TraceContext, Tracker, run_pending
from framesmith.variables.core.builtin_methods import builtin_attribute
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.enum_tables import guard_table
from framesmith.variables.core.folding import fold, wrap_pinned_member
from framesmith.variables.core.rows import Rows
from framesmith.variables.objects.descriptors import begin_get
from framesmith.variables.objects.lookup import find
from framesmith.variables.objects.special_methods import is_native

ROWS: Final = Rows()

_STANDARD_MODULE: Final = enum.__name__


def _enumeration(cls: Tracker) -> type[enum.Enum]:
    kind = cls.as_python_constant()
    if not (isinstance(kind, type) and issubclass(kind, enum.Enum)):
        cls.unsupported("use as an enumeration")
    return kind


def _has_plain_lookup(cls: type[enum.Enum]) -> bool:
    """Whether calling the class runs no user code: `_missing_` and the metaclass are those of the standard library."""
    # Members are looked up in tables, which folding does for real; code of the user must not run for real.
    missing = getattr(cls._missing_, "__module__", _STANDARD_MODULE)
    return missing == _STANDARD_MODULE and type(cls).__module__ == _STANDARD_MODULE


def enum_attribute(tx: TraceContext, member: Constant, name: str) -> Tracker:
    """An attribute of an enum member: name and value, else an item of the class or of the member's own dictionary."""
    cls = member.python_type
    value = member.value
    assert isinstance(value, enum.Enum)
    # A member is a constant of the entry, and so is the source that its own attributes are read from.
    here = wrap_pinned_member(value)
    tx.guard(here, TypeIs(cls), "the class of a member decides how attributes are looked up")
    # `name` and `value` are properties of the module `enum`, unless the class overrides them.
    if name in ("_name_", "_value_") or (
        name in ("name", "value") and _is_standard(static_lookup(cls, name)) and not _is_stored(tx, cls, name)
    ):
        stored = name if name.startswith("_") else f"_{name}_"
        # A program may replace or delete it in the member, which fails a guard then.
        if stored in vars(value):
            return tx.wrap(vars(value)[stored], InstanceItem(here, stored)).realize()
        tx.guard(here, HasInstanceAttribute(stored, False))
        return fold(tx, lambda one: getattr(one, name), (member,))
    found = find(tx, cls, name)
    if found is not None and comes_first(found.cls):
        return run_pending(tx, begin_get(tx, found, member)).realize()
    if name in vars(value):
        return tx.wrap(vars(value)[name], InstanceItem(here, name))
    if found is not None:
        if is_native(found):
            # A method of the type that is mixed in (`class Color(str, Enum)`) works on the constant.
            return builtin_attribute(tx, member, name)
        return run_pending(tx, begin_get(tx, found, member)).realize()
    if static_lookup(cls, "__getattr__") is not MISSING:
        return member.unsupported(f"reading attribute {name!r}")
    return missing_attribute(tx, member, name)


def _is_stored(tx: TraceContext, cls: type, name: str) -> bool:
    """Whether the trace itself has stored the attribute in the class."""
    found = find(tx, cls, name) if tx.changes.classes else None
    return found is not None and found.stored is not None


def _is_standard(item: object) -> bool:
    """Whether a property is defined in the module `enum`."""
    getter = getattr(item, "fget", None)
    return getattr(getter, "__module__", None) == _STANDARD_MODULE


ROWS.add(CONSTANT_ATTRIBUTES, enum.Enum, enum_attribute)


def _is_hashable(key: object) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


@ROWS.call(EnumMeta.__call__)
def enum_call(tx: TraceContext, cls: Tracker, value: Tracker, /) -> Tracker:
    """`Color(1)`: the member with this value. The functional form, which creates a class, breaks the graph."""
    kind = _enumeration(cls)
    if not kind._member_map_ or not value.is_python_constant() or not _has_plain_lookup(kind):
        return cls.unsupported("calling it")
    key = value.as_python_constant()
    # such members are in no table: CPython compares it with the value of each, which may change
    if is_plain_constant(key) and not _is_hashable(key):
        return cls.unsupported("calling it with a value that has no hash")
    result = fold(tx, kind, (value,))
    guard_table(tx, kind, "_member_map_")
    guard_table(tx, kind, "_value2member_map_", (key,))
    return result


@ROWS.call(EnumMeta.__getitem__)
def enum_getitem(tx: TraceContext, cls: Tracker, name: Tracker, /) -> Tracker:
    """`Color["RED"]`."""
    kind = _enumeration(cls)
    result = fold(tx, lambda key: kind._member_map_[key], (name,))
    guard_table(tx, kind, "_member_map_", (name.as_python_constant(),))
    return result


@ROWS.call(EnumMeta.__iter__)
def enum_iter(tx: TraceContext, cls: Tracker, /) -> Tracker:
    """`iter(Color)`: the members in order of definition, without aliases."""
    kind = _enumeration(cls)
    guard_table(tx, kind, "_member_map_")
    members = [Constant(kind._member_map_[name]) for name in kind._member_names_]
    return TupleTracker(members).iterate(tx)


@ROWS.call(EnumMeta.__len__)
def enum_len(tx: TraceContext, cls: Tracker, /) -> Tracker:
    """`len(Color)`."""
    kind = _enumeration(cls)
    guard_table(tx, kind, "_member_map_")
    return Constant(len(kind._member_names_))


@ROWS.call(EnumMeta.__contains__)
def enum_contains(tx: TraceContext, cls: Tracker, item: Tracker, /) -> Tracker:
    """`item in Color`, by the rule of the running Python version for values that are no members."""
    kind = _enumeration(cls)
    if not isinstance(item, Constant):
        return cls.unsupported("a membership test")
    found = fold(tx, lambda member: member in kind, (item,))
    if isinstance(item.value, kind):
        # Its name decides. The table by value grows with each combination of flags that anybody makes.
        guard_table(tx, kind, "_member_map_", (getattr(item.value, "_name_", None),))
    else:
        guard_table(tx, kind, "_value2member_map_", (item.value,))
    return found
