"""Copies of instances of subclasses of `OrderedDict` and `defaultdict`, and their `|`, which starts from a copy: their methods call the class of the instance.

Source of the rules: Objects/odictobject.c, Modules/_collectionsmodule.c. Dicts of other classes are copied as plain dicts, by
their tracker in `builtin_types.dicts`.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Iterable

from framesmith.guards.class_lookup import overrides, qualified_name
from framesmith.guards.sources import Pinned
from framesmith.variables.core.base import TraceContext, Tracker


def native_kind(cls: type) -> type:
    """Whose C methods an instance of a class of dicts has: `OrderedDict`, `defaultdict` or `dict`."""
    bases: tuple[type, ...] = (OrderedDict, defaultdict)
    return next((base for base in bases if issubclass(cls, base)), dict)


def _call_class(tx: TraceContext, instance: Tracker, *args: Tracker) -> Tracker:
    cls = instance.python_type
    # as an existing class, so that its `__new__` and `__init__` are traced
    return tx.wrap(cls, Pinned(cls, qualified_name(cls))).call(tx, args, {}).realize()


def _check_factory(instance: Tracker) -> None:
    # C code reads the C member, past an override that the program would see
    if overrides(instance.python_type, defaultdict, "default_factory"):
        instance.unsupported("copying it with a default_factory of its own")


def copy_ordered(tx: TraceContext, instance: Tracker, keys: Iterable[Tracker]) -> Tracker:
    """`OrderedDict.copy`: `new[key] = self[key]` for all keys."""
    new = _call_class(tx, instance)
    for key in keys:
        new.set_subscript(tx, key, instance.subscript(tx, key))
    return new


def copy_default(tx: TraceContext, instance: Tracker, factory: Tracker, content: Tracker) -> Tracker:
    """`type(self)(self.default_factory, content)`."""
    _check_factory(instance)
    return _call_class(tx, instance, factory, content)


def merge_into_copy(
    tx: TraceContext, like: Tracker, factory: Tracker, left: Tracker, right: Tracker
) -> Tracker:
    """`left | right` as an instance of the class of `like`, which is one of the two."""
    if issubclass(like.python_type, defaultdict):
        new = copy_default(tx, like, factory, left)
    else:
        new = _call_class(tx, like, left)
        check_ordered_update(new)
    part = new.builtin_part_or_self(tx)
    # C code of the builtin class goes on with the copy, and sees no override of `__ior__`
    result = part.inplace(tx, "|", right) if issubclass(part.python_type, dict) else None
    return new if result is part else new.unsupported("updating it with another dict")


def check_ordered_update(instance: Tracker) -> None:
    """Break the graph where `OrderedDict.update`, which stores by
    `self[key] = value`, calls a method of the class."""
    if overrides(instance.python_type, OrderedDict, "__setitem__"):
        instance.unsupported("an update of an OrderedDict with a __setitem__ of its own")
