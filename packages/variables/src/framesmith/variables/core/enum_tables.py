"""The tables of an enumeration: `_member_map_` by name and `_value2member_map_` by value. Calls and flags read them."""

import enum
from collections.abc import Iterable

from framesmith.guards.class_lookup import class_name, type_dict
from framesmith.guards.comparison import is_plain_constant
from framesmith.guards.kinds import Identical, LengthIs, TypeIs
from framesmith.guards.sources import ClassDictItem, Item, Pinned
from framesmith.variables.core.base import TraceContext


def guard_table(tx: TraceContext, cls: type[enum.Enum], name: str, keys: Iterable[object] = ()) -> None:
    """Guard the members that a table has under these keys; where it has none of them, how many members it has."""
    held = type_dict(cls).get(name)
    if not isinstance(held, dict):
        return
    table = ClassDictItem(Pinned(cls, class_name(cls)), name)
    tx.guard(table, TypeIs(type(held)))
    # only plain constants are looked up: another key might run a `__hash__` of the user
    found = [key for key in keys if is_plain_constant(key) and key in held]
    for key in found:
        tx.guard(Item(table, key), Identical(held[key]))
    if not found:
        tx.guard(table, LengthIs(len(held)))
