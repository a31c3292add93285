"""Instances of classes that derive from builtin types: wrapping existing ones, `__new__` and `__init__` of the base.

Instances of all other classes are in `objects.instances` and `objects.construction`.
"""

import functools
from collections import OrderedDict, defaultdict
from typing import Final

from framesmith.guards import Source
from framesmith.guards.class_lookup import defines, is_heap_type, overrides, type_dict
from framesmith.guards.kinds import TypeIs
from framesmith.guards.sources import CallResult
from framesmith.variables.builtin_types.dict_copies import check_ordered_update
from framesmith.variables.builtin_types.dict_methods import check_factory
from framesmith.variables.builtin_types.dicts import DictTracker
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.sets import SetTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core.base import TraceContext, Tracker, run_pending
from framesmith.variables.core.builtin_type import BUILTIN_TYPES, BuiltinPart, BuiltinType
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.registry import Registry
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import RowFunction, row_of
from framesmith.variables.objects.construction import check_class, new_instance
from framesmith.variables.objects.instance_writing import find_solid_base
from framesmith.variables.objects.instances import InstanceTracker
from framesmith.variables.objects.own_attributes import has_dict

ROWS: Final = Rows()


_READING: Final = ("__getitem__", "__len__", "__iter__", "__contains__", "keys", "__getattribute__")


def builtin_base(registry: Registry, cls: type) -> BuiltinType | None:
    """The row of the builtin base whose C data instances of a subclass hold; None for other classes."""
    # A class in Python may inherit from several builtin types; only the solid base has C data of its own.
    base, _ = find_solid_base(cls)
    row = registry[BUILTIN_TYPES].get(base)
    return row if row is not None and row.part is not None and base is not cls else None


# Before the general rule (rank 90), which would make an instance without a builtin part.
@ROWS.wrap_when(60, lambda registry, cls: builtin_base(registry, cls) is not None)
def wrap_builtin_subclass(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing instance of a subclass of a builtin type, guarded by type."""
    cls = type(value)
    row = builtin_base(tx.registry, cls)
    assert row is not None and row.part is not None
    tx.guard(source, TypeIs(cls))
    return InstanceTracker(cls, value, source, _make_builtin_part(tx, cls, row.cls, row.part, value, source))


def _make_builtin_part(
    tx: TraceContext, cls: type, base: type, part: BuiltinPart, value: object, source: Source
) -> Tracker:
    """The tracker of the builtin part. If the class overrides reading,
    it reads a plain copy, so that guards run no user code."""
    content = part.plain(value)
    # `part.plain` runs no override of the class, so the guards run none either.
    copy = CallResult(source, part.plain)
    if part.wrap is None:
        return tx.wrap(content, copy)
    if not any(overrides(cls, base, name) for name in _READING):
        return part.wrap(tx, value, source, cls)
    tracker = part.wrap(tx, content, copy, cls)
    if isinstance(tracker, DictTracker | SetTracker):
        # The copy cannot be read again by key from the instance, whose source replaces that of the copy below.
        tracker.read_all(tx)
    tracker.source = source  # changes are replayed on the instance itself
    return tracker


@ROWS.for_each(BUILTIN_TYPES)
def new_rows(row: BuiltinType) -> Rows:
    """The row of `__new__`, through which a subclass makes its instances."""
    rows = Rows()
    if row.part is not None and "__new__" in type_dict(row.cls):
        rows.call(row.cls.__new__)((_immutable_new if row.part.empty is None else _container_new)(row.cls))
    return rows


@functools.cache
def _container_new(base: type) -> RowFunction:
    def new(tx: TraceContext, cls: Tracker, /, *args: Tracker, **kwargs: Tracker) -> Tracker:
        """`list.__new__(cls, ...)`: an empty container; `__init__` uses the arguments."""
        kind = check_class(tx, cls, base)
        # `list.__new__(list)`: no Python class, so its own row makes a plain container.
        if not is_heap_type(kind):
            return cls.call(tx, (), {})
        if builtin_base(tx.registry, kind) is None:
            return cls.unsupported("making an instance")
        return new_instance(tx, kind)

    return new


@functools.cache  # one function for each type: registries of the same rows are equal
def _immutable_new(base: type) -> RowFunction:
    def new(tx: TraceContext, cls: Tracker, /, *args: Tracker, **kwargs: Tracker) -> Tracker:
        """`base.__new__(cls, ...)`: an instance with the content of `base(...)`."""
        kind = check_class(tx, cls, base)
        row = row_of(tx.registry, base)
        if row is None or find_solid_base(kind)[0] is not base:  # `int.__new__(bool)` is a TypeError
            return cls.unsupported("making an instance")
        content = run_pending(tx, row.begin(tx, args, kwargs)).realize()
        # `int.__new__(int, x)` is the plain value.
        if kind is base:
            return content
        # Named tuples with empty `__slots__` have no attributes, so the tracker of tuples knows all of them.
        if base is tuple and defines(kind, "_fields") and not has_dict(kind):
            return TupleTracker(unpack(tx, content), None, kind)
        return InstanceTracker(kind, builtin_part=content)

    return new


def _call_row(tx: TraceContext, function: object, *args: Tracker, **kwargs: Tracker) -> None:
    row = row_of(tx.registry, function)
    if row is None:
        args[0].unsupported("its initialization")
    run_pending(tx, row.begin(tx, args, kwargs))


@ROWS.call(list.__init__)
def list_init(tx: TraceContext, self: Tracker, iterable: Tracker | None = None, /) -> Tracker:
    """`list.__init__(self, iterable)`."""
    _call_row(tx, list.clear, self)
    if iterable is not None:
        _call_row(tx, list.extend, self, iterable)
    return Constant(None)


@ROWS.call(set.__init__)
def set_init(tx: TraceContext, self: Tracker, iterable: Tracker | None = None, /) -> Tracker:
    """`set.__init__(self, iterable)`."""
    _call_row(tx, set.clear, self)
    if iterable is not None:
        _call_row(tx, set.update, self, iterable)
    return Constant(None)


@ROWS.call(OrderedDict.__init__)
def ordered_init(tx: TraceContext, self: Tracker, /, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`OrderedDict.__init__(self, ...)`, which stores by `self[key]
    = value`; breaks where the class overrides `__setitem__`."""
    if args or kwargs:
        # An `OrderedDict` that is a builtin part: its owner is what may override `__setitem__`.
        check_ordered_update(self.owner if isinstance(self, DictTracker) and self.owner is not None else self)
        _call_row(tx, dict.update, self, *args, **kwargs)
    return Constant(None)


@ROWS.call(defaultdict.__init__)
def default_init(
    tx: TraceContext, self: Tracker, factory: Tracker | None = None, /, *args: Tracker, **kwargs: Tracker
) -> Tracker:
    """`defaultdict.__init__(self, factory, ...)`."""
    if not isinstance(self, DictTracker) or self.source is not None:  # a new factory could not be replayed
        return self.unsupported("defaultdict.__init__")
    if factory is not None:
        check_factory(tx, factory)
    tx.changes.note(self)
    self.factory = factory
    if args or kwargs:
        _call_row(tx, dict.update, self, *args, **kwargs)
    return Constant(None)


@ROWS.call(dict.__init__)
def dict_init(tx: TraceContext, self: Tracker, /, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`dict.__init__(self, ...)`: updates the dict, and does not clear it."""
    if args or kwargs:
        _call_row(tx, dict.update, self, *args, **kwargs)
    return Constant(None)
