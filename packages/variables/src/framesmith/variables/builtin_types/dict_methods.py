"""Rows for the methods of `dict`, `OrderedDict` and `defaultdict`.

The tracker is in `builtin_types.dicts`.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from typing import Final, NoReturn, cast

from framesmith.guards.class_lookup import defines
from framesmith.variables.builtin_types.dict_copies import check_ordered_update
from framesmith.variables.builtin_types.dict_iterators import ORDERED_ITERATOR, DictIterator
from framesmith.variables.builtin_types.dicts import DictTracker, make_dict_tracker
from framesmith.variables.builtin_types.iterators import take_items
from framesmith.variables.builtin_types.tuples import TupleTracker, find_tuple_part
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import find_error_text
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.structure import guard_class_attribute
from framesmith.variables.operations.truth import known_truth

ROWS: Final = Rows()

NONE = Constant(None)
_NO_FACTORY: Final = find_error_text(defaultdict, 0)


@ROWS.call(dict.get)
def dict_get(tx: TraceContext, self: DictTracker, key: Tracker, default: Tracker = NONE, /) -> Tracker:
    """`self.get(key, default)`."""
    found = self.get_item(tx, key)
    return default if found is None else found


@ROWS.call(dict.setdefault)
def dict_setdefault(tx: TraceContext, self: DictTracker, key: Tracker, default: Tracker = NONE, /) -> Tracker:
    """`self.setdefault(key, default)`."""
    return _setdefault(tx, self, key, default)


def _setdefault(tx: TraceContext, self: DictTracker, key: Tracker, default: Tracker) -> Tracker:
    found = self.get_item(tx, key)
    if found is not None:
        return found
    self.store(tx, key, default)
    return default


@ROWS.call(OrderedDict.setdefault)
def ordered_setdefault(tx: TraceContext, self: DictTracker, key: Tracker, default: Tracker = NONE) -> Tracker:
    """`self.setdefault(key, default)`; unlike `dict.setdefault` it takes
    keywords, and for a subclass uses its own methods (CPython `OrderedDict_setdefault_impl`)."""
    instance = self.owner
    if instance is None:
        return _setdefault(tx, self, key, default)
    if known_truth(tx, instance.contains(tx, key)):
        return instance.subscript(tx, key)
    instance.set_subscript(tx, key, default)
    return default


@ROWS.call(dict.pop)
def dict_pop(tx: TraceContext, self: DictTracker, key: Tracker, default: Tracker | None = None, /) -> Tracker:
    """`self.pop(key[, default])`."""
    found = self.remove(tx, key)
    if found is not None:
        return found
    return raise_observed(tx, KeyError, key) if default is None else default


@ROWS.call(OrderedDict.pop)
def ordered_pop(tx: TraceContext, self: DictTracker, key: Tracker, default: Tracker | None = None) -> Tracker:
    """`self.pop(key[, default])`; unlike `dict.pop` it takes keywords."""
    found = self.remove(tx, key)
    if found is not None:
        return found
    return _raise_key(tx, key) if default is None else default


def _raise_key(tx: TraceContext, key: Tracker) -> NoReturn:
    """KeyError as Objects/odictobject.c raises it: None gives no argument, a tuple gives one for each item."""
    # `PyErr_SetObject` takes None for no value, and a tuple for the arguments
    if isinstance(key, Constant) and key.value is None:
        raise_observed(tx, KeyError)
    items = find_tuple_part(tx, key)
    raise_observed(tx, KeyError, *([key] if items is None else items.items))


@ROWS.call(dict.popitem)
def dict_popitem(tx: TraceContext, self: DictTracker, /) -> Tracker:
    """`self.popitem()`: the last pair; KeyError when the dict is empty."""
    return _popitem(tx, self, -1, "popitem(): dictionary is empty")


@ROWS.call(OrderedDict.popitem)
def ordered_popitem(tx: TraceContext, self: DictTracker, last: Tracker | None = None) -> Tracker:
    """`self.popitem(last=True)`: the last or the first pair; KeyError when it is empty."""
    return _popitem(tx, self, -1 if last is None or known_truth(tx, last) else 0, "dictionary is empty")


def _popitem(tx: TraceContext, self: DictTracker, index: int, message: str) -> Tracker:
    pairs = self.items(tx)
    if not pairs:
        raise_observed(tx, KeyError, message)
    key, value = pairs[index]
    self.remove(tx, key)
    return TupleTracker([key, value])


@ROWS.call(OrderedDict.move_to_end)
def move_to_end(tx: TraceContext, self: DictTracker, key: Tracker, last: Tracker | None = None) -> Tracker:
    """`self.move_to_end(key, last=True)`."""
    if not self.move(tx, key, last is None or known_truth(tx, last)):
        _raise_key(tx, key)
    return NONE


@ROWS.call(dict.clear, OrderedDict.clear)
def dict_clear(tx: TraceContext, self: DictTracker, /) -> Tracker:
    """`self.clear()`."""
    self.clear(tx)
    return NONE


@ROWS.call(dict.copy, OrderedDict.copy, defaultdict.copy)
def dict_copy(tx: TraceContext, self: DictTracker, /) -> Tracker:
    """`self.copy()`."""
    return self.copy(tx)


@ROWS.call(cast(object, defaultdict.__copy__))
def defaultdict_copy(tx: TraceContext, self: DictTracker, /) -> Tracker:
    """`copy.copy` of a defaultdict."""
    return self.copy(tx)


@ROWS.call(dict.update)
def dict_update(
    tx: TraceContext, self: DictTracker, other: Tracker | None = None, /, **named: Tracker
) -> Tracker:
    """`self.update(mapping or pairs, **named)`."""
    _update(tx, self, other, named)
    return NONE


def _update(tx: TraceContext, self: DictTracker, other: Tracker | None, named: Mapping[str, Tracker]) -> None:
    if other is not None:
        self.merge(tx, other)
    for name, value in named.items():
        self.store(tx, Constant(name), value)


@ROWS.call(OrderedDict.update)
def ordered_update(
    tx: TraceContext, self: DictTracker, other: Tracker | None = None, /, **named: Tracker
) -> Tracker:
    """`OrderedDict.update(mapping or pairs, **named)`, in CPython a method object of its own."""
    if self.owner is not None:
        check_ordered_update(self.owner)
    _update(tx, self, other, named)
    return NONE


@ROWS.call(defaultdict.__missing__)
def defaultdict_missing(tx: TraceContext, self: DictTracker, key: Tracker, /) -> Tracker:
    """`self.__missing__(key)`."""
    return self.missing(tx, key)


@ROWS.call(dict.__reversed__, OrderedDict.__reversed__)
def dict_reversed(tx: TraceContext, self: DictTracker, /) -> Tracker:
    """`reversed(self)`."""
    self.read_all(tx)
    ordered = issubclass(self.cls, OrderedDict)
    kind = ORDERED_ITERATOR if ordered else KEY_REVERSED
    return DictIterator(self, self.state, lambda item: item.key, kind, "{reversed}({0})", True)


KEY_REVERSED: type = type(reversed(dict[object, object]()))


@ROWS.call(dict)
def call_dict(tx: TraceContext, source: Tracker | None = None, /, **named: Tracker) -> Tracker:
    """`dict(mapping or pairs, **named)`."""
    return _fill_new_dict(tx, make_dict_tracker(()), source, named)


@ROWS.call(OrderedDict)
def call_ordered(tx: TraceContext, source: Tracker | None = None, /, **named: Tracker) -> Tracker:
    """`OrderedDict(mapping or pairs, **named)`."""
    return _fill_new_dict(tx, make_dict_tracker((), OrderedDict), source, named)


def check_factory(tx: TraceContext, factory: Tracker) -> None:
    """TypeError for a `default_factory` that cannot be called."""
    factory = factory.realize()
    if isinstance(factory, Constant) and factory.value is None:
        return
    # that a class has `__call__` may change until the next call
    guard_class_attribute(tx, factory.python_type, "__call__")
    if not defines(factory.python_type, "__call__"):
        raise_observed(tx, TypeError, _NO_FACTORY)


@ROWS.call(defaultdict)
def call_defaultdict(
    tx: TraceContext, factory: Tracker = NONE, source: Tracker | None = None, /, **named: Tracker
) -> Tracker:
    """`defaultdict(factory, mapping or pairs, **named)`."""
    check_factory(tx, factory)
    return _fill_new_dict(tx, make_dict_tracker((), defaultdict, factory), source, named)


def _fill_new_dict(
    tx: TraceContext, new: DictTracker, source: Tracker | None, named: dict[str, Tracker]
) -> DictTracker:
    _update(tx, new, source, named)
    return new


@ROWS.call(dict.fromkeys)
def dict_fromkeys(tx: TraceContext, keys: Tracker, value: Tracker = NONE, /) -> Tracker:
    """`dict.fromkeys(keys, value)`."""
    return _from_keys(tx, make_dict_tracker(()), keys, value)


@ROWS.call(OrderedDict.fromkeys)
def ordered_fromkeys(tx: TraceContext, keys: Tracker, value: Tracker = NONE, /) -> Tracker:
    """`OrderedDict.fromkeys(keys, value)`."""
    return _from_keys(tx, make_dict_tracker((), OrderedDict), keys, value)


def _from_keys(tx: TraceContext, new: DictTracker, keys: Tracker, value: Tracker) -> DictTracker:
    for key in take_items(tx, keys):
        new.store(tx, key, value)
    return new
