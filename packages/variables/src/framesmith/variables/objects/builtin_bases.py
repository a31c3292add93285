"""Instances of classes that derive from builtin types: wrapping existing ones, `__new__` and `__init__` of the base."""

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Final

from framesmith.guards import Source
from framesmith.guards.class_lookup import defines, is_heap_type, overrides
from framesmith.guards.kinds import TypeIs
from framesmith.guards.sources import Attribute, CallResult
from framesmith.variables.builtin_types.dicts import DictTracker
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.lists import list_storage
from framesmith.variables.builtin_types.sets import SetTracker, set_storage
from framesmith.variables.builtin_types.tuples import TupleTracker, plain_tuple, tuple_storage
from framesmith.variables.core.base import TraceContext, Tracker, complete
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import row_of
from framesmith.variables.core.wrap_rules import lazy
from framesmith.variables.objects.construction import check_class, new_instance
from framesmith.variables.objects.instance_writing import native_new
from framesmith.variables.objects.instances import InstanceTracker, has_dict

ROWS: Final = Rows()


def _plain_list(value: object) -> list[object]:
    """The items of an instance of a list subclass, read without overrides of the subclass."""
    assert isinstance(value, list)
    return list.copy(value)


def _plain_set(value: object) -> set[object]:
    assert isinstance(value, set)
    return set(set.__iter__(value))


def _plain_frozenset(value: object) -> frozenset[object]:
    assert isinstance(value, frozenset)
    return frozenset(frozenset.__iter__(value))


def _plain_dict(value: object) -> dict[object, object]:
    assert isinstance(value, dict)
    return {key: dict.__getitem__(value, key) for key in dict.__iter__(value)}


def _plain_ordered(value: object) -> OrderedDict[object, object]:
    assert isinstance(value, OrderedDict)
    return OrderedDict((key, dict.__getitem__(value, key)) for key in OrderedDict.__iter__(value))


def _plain_str(value: object) -> str:
    assert isinstance(value, str)
    return str.__str__(value)


def _plain_int(value: object) -> int:
    assert isinstance(value, int)
    return int.__int__(value)


def _plain_float(value: object) -> float:
    assert isinstance(value, float)
    return float.__float__(value)


def _plain_bytes(value: object) -> bytes:
    assert isinstance(value, bytes)
    return bytes.__getitem__(value, slice(None)) if type(value) is bytes else bytes.join(b"", [value])


_PLAIN: Final[dict[type, Callable[[object], object]]] = {
    list: _plain_list,
    tuple: plain_tuple,
    set: _plain_set,
    frozenset: _plain_frozenset,
    dict: _plain_dict,
    OrderedDict: _plain_ordered,
    defaultdict: _plain_dict,
    str: _plain_str,
    int: _plain_int,
    float: _plain_float,
    bytes: _plain_bytes,
}


def _dict_storage(tx: TraceContext, value: dict[object, object], source: Source, kind: type) -> DictTracker:
    return DictTracker(source, kind, value)


def _default_storage(
    tx: TraceContext, value: dict[object, object], source: Source, kind: type
) -> DictTracker:
    if not isinstance(value, defaultdict) or overrides(kind, defaultdict, "default_factory"):
        return DictTracker(source, kind, value).unsupported("an override of what a defaultdict does")
    factory = lazy(tx, value.default_factory, Attribute(source, "default_factory"))
    return DictTracker(source, kind, value, factory)


Storage = Callable[..., Tracker]
_STORAGE: Final[dict[type, Storage]] = {
    list: list_storage,
    tuple: tuple_storage,
    set: set_storage,
    dict: _dict_storage,
    OrderedDict: _dict_storage,
    defaultdict: _default_storage,
}
_READING: Final = ("__getitem__", "__len__", "__iter__", "__contains__", "keys", "__getattribute__")


def builtin_base(kind: type) -> type | None:
    """The builtin base whose C data instances of a subclass hold; None for other classes."""
    base, _ = native_new(kind)
    return base if base in _PLAIN and base is not kind else None


@ROWS.wrap_when(60, lambda _, value: builtin_base(type(value)) is not None)
def wrap_builtin_subclass(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing instance of a subclass of a builtin type, guarded by type."""
    kind = type(value)
    base = builtin_base(kind)
    assert base is not None
    tx.guard(source, TypeIs(kind))
    return InstanceTracker(kind, value, source, _payload(tx, kind, base, value, source))


def _payload(tx: TraceContext, kind: type, base: type, value: object, source: Source) -> Tracker:
    """The tracker of the builtin part. If the class overrides reading,
    it reads a plain copy, so that guards run no user code."""
    content = _PLAIN[base](value)
    copy = CallResult(source, _PLAIN[base])
    storage = _STORAGE.get(base)
    if storage is None:
        return tx.wrap(content, copy)
    if not any(overrides(kind, base, name) for name in _READING):
        return storage(tx, value, source, kind)
    part = storage(tx, content, copy, kind)
    if isinstance(part, DictTracker | SetTracker):
        part.complete(tx)
    part.source = source  # changes are replayed on the instance itself
    return part


@ROWS.call(*dict.fromkeys([list.__new__, dict.__new__, set.__new__, OrderedDict.__new__]))
def container_new(tx: TraceContext, cls: Tracker, /, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`list.__new__(cls, ...)`: an empty container; `__init__` uses the arguments."""
    kind = check_class(tx, cls)
    if not is_heap_type(kind):
        return cls.call(tx, (), {})
    return cls.unsupported("making an instance") if builtin_base(kind) is None else new_instance(tx, kind)


def _immutable_new(base: type) -> None:
    @ROWS.call(base.__new__)
    def new(tx: TraceContext, cls: Tracker, /, *args: Tracker, **kwargs: Tracker) -> Tracker:
        """`base.__new__(cls, ...)`: an instance with the content of `base(...)`."""
        kind = check_class(tx, cls)
        row = row_of(tx.registry, base)
        if row is None:
            return cls.unsupported("making an instance")
        content = complete(tx, row.begin(tx, args, kwargs)).realize()
        if kind is base:
            return content
        if base is tuple and defines(kind, "_fields") and not has_dict(kind):
            return TupleTracker(unpack(tx, content), None, kind)
        return InstanceTracker(kind, payload=content)


for _base in (tuple, frozenset, str, bytes, int, float):
    _immutable_new(_base)


def _call_row(tx: TraceContext, function: object, *args: Tracker, **kwargs: Tracker) -> None:
    row = row_of(tx.registry, function)
    if row is None:
        args[0].unsupported("its initialization")
    complete(tx, row.begin(tx, args, kwargs))


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
    owner = self.owner if isinstance(self, DictTracker) and self.owner is not None else self
    if (args or kwargs) and overrides(owner.python_type, OrderedDict, "__setitem__"):
        return owner.unsupported("OrderedDict.__init__ with a __setitem__ of its own")
    if args or kwargs:
        _call_row(tx, dict.update, self, *args, **kwargs)
    return Constant(None)


@ROWS.call(defaultdict.__init__)
def default_init(
    tx: TraceContext, self: Tracker, factory: Tracker | None = None, /, *args: Tracker, **kwargs: Tracker
) -> Tracker:
    """`defaultdict.__init__(self, factory, ...)`."""
    if not isinstance(self, DictTracker):
        return self.unsupported("defaultdict.__init__")
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
