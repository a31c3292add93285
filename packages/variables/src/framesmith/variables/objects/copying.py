"""`__reduce_ex__`, which `copy` and `pickle` call. The module `copy` itself is Python code and is inlined.

How an instance is built after the graph: `objects.instance_writing`.
"""

import copy
import copyreg
import enum
from collections import OrderedDict
from types import FunctionType
from typing import Final

import torch

from framesmith.guards.class_lookup import (
    MISSING,
    basic_size,
    derives,
    dict_offset,
    overrides,
    resolution_order,
    static_lookup,
    type_dict,
    weak_offset,
)
from framesmith.guards.kinds import LengthIs
from framesmith.guards.sources import InstanceDict, Pinned
from framesmith.variables.builtin_types.dicts import DictTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker
from framesmith.variables.core.builtin_type import BUILTIN_TYPES
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.folding import from_python
from framesmith.variables.core.rows import Rows
from framesmith.variables.objects.instance_writing import find_solid_base
from framesmith.variables.objects.instances import InstanceTracker
from framesmith.variables.objects.lookup import class_source, find
from framesmith.variables.objects.own_attributes import has_dict
from framesmith.variables.objects.special_methods import call_method, is_native

ROWS: Final = Rows()

_COPYING: Final = ("__copy__", "__deepcopy__", "__reduce_ex__", "__reduce__")
NONE: Final = Constant(None)
# Read by name from the module's dictionary: stubs do not list it.
_new_object: Final[object] = vars(copyreg)["__newobj__"]


def _register_add_copy(function: FunctionType) -> None:
    form = polyfill_function(function)

    @ROWS.call(function)
    def begin(tx: TraceContext, x: Tracker, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
        """`copy.copy(x)` or `copy.deepcopy(x, memo)`: functions, classes and most constants are returned themselves."""
        if x.python_type in (type, FunctionType):
            return x
        if isinstance(x, Constant) and not _has_own_copy(x.value):
            if type(x.value) is not torch.device:
                return x
            return Constant(copy.copy(x.value))  # pickled and made again
        return form.bind(tx, (x, *args), kwargs)


def _has_own_copy(value: object) -> bool:
    """Whether a constant is a member of an enumeration that says how it is copied."""
    if not isinstance(value, enum.Enum):
        return False
    found = [static_lookup(type(value), name) for name in _COPYING]
    return any(isinstance(one, FunctionType) and one.__module__ != enum.__name__ for one in found)


for _function in (copy.copy, copy.deepcopy):
    assert isinstance(_function, FunctionType)
    _register_add_copy(_function)


@ROWS.call(object.__reduce_ex__)
def reduce_ex(tx: TraceContext, self: Tracker, protocol: Tracker, /) -> Tracker:
    """`object.__reduce_ex__(self, protocol)` for protocols from 2 (CPython `reduce_newobj`)."""
    version = protocol.as_python_constant()
    if isinstance(self, DictTracker) and self.cls is OrderedDict:
        return _reduce_ordered(tx, self)
    # An instance of a subclass of set or another builtin type answers below, by the rules for its class.
    row = None if isinstance(self, InstanceTracker) else tx.registry[BUILTIN_TYPES].get(self.python_type)
    if row is not None and row.reduce is not None:
        return row.reduce(tx, self)
    if not isinstance(self, InstanceTracker) or not isinstance(version, int) or version < 2:
        return self.unsupported("__reduce_ex__")
    # CPython's `object___reduce_ex__`: a `__reduce__` that is not that of `object` goes first.
    own = find(tx, self.cls, "__reduce__")
    if own is not None and not is_native(own):
        return call_method(tx, self, own)
    # Arguments for `__new__`, and data that only C code knows, have no model.
    if own is None or own.owner is not object or _needs_arguments(self.cls) or _holds_native_data(self.cls):
        return self.unsupported("__reduce_ex__")
    make = tx.wrap(_new_object, Pinned(_new_object, "copyreg.__newobj__"))
    cls = tx.wrap(self.cls, class_source(self.cls))
    items, pairs = _content(tx, self)
    return TupleTracker([make, TupleTracker([cls]), _state(tx, self), items, pairs])


def _reduce_ordered(tx: TraceContext, value: DictTracker) -> Tracker:
    """`OrderedDict.__reduce__` of one without attributes, which is guarded: the type, no arguments, no state, and an iterator over the
    items."""
    if value.attributes or (value.value is not None and vars(value.value)):
        value.unsupported("__reduce_ex__ with attributes of its own")
    if value.source is not None:
        tx.guard(InstanceDict(value.source), LengthIs(0))
    items = value.attribute(tx, "items").call(tx, (), {}).realize().iterate(tx)
    return TupleTracker([from_python(tx, OrderedDict), TupleTracker([]), NONE, NONE, items])


def _needs_arguments(cls: type) -> bool:
    return any(static_lookup(cls, name) is not MISSING for name in ("__getnewargs__", "__getnewargs_ex__"))


def _holds_native_data(cls: type) -> bool:
    """Whether instances hold C data besides dictionary and weak references, which `object.__reduce_ex__` refuses or
    does not copy. The content of lists and dicts it gives as items (CPython: `reduce_newobj`, `object_getstate_default`)."""
    if derives(cls, list) or derives(cls, dict):
        return False
    # As `object_getstate_default` compares sizes: more than a head, a dictionary and weak references.
    base, _ = find_solid_base(cls)
    pointers = sum(offset > 0 for offset in (dict_offset(cls), weak_offset(cls)))
    return base is not object or basic_size(cls) > basic_size(object) + pointers * tuple.__itemsize__


def _state(tx: TraceContext, instance: InstanceTracker) -> Tracker:
    """The result of `__getstate__`: by default the instance dictionary, None when it is empty."""
    own = find(tx, instance.cls, "__getstate__")
    if own is not None and not is_native(own):
        return call_method(tx, instance, own)
    # With slots the state is a pair: the dictionary, and the slots by name.
    if any(type_dict(base).get("__slots__") for base in resolution_order(instance.cls)):
        return instance.unsupported("copying its slots")
    if not has_dict(instance.cls):
        return NONE
    state = instance.own.dictionary(tx, instance)
    assert isinstance(state, DictTracker)
    # CPython gives None for an empty dictionary of an instance.
    return state if state.size(tx) else NONE


def _content(tx: TraceContext, instance: InstanceTracker) -> tuple[Tracker, Tracker]:
    """The last two members of the result: iterators over the items of a list and the pairs of a dict, or None.

    CPython knows these two types by name (`_PyObject_GetItemsIter`); others have a `__reduce__` of their own.
    """
    if instance.builtin_part is None:
        return NONE, NONE
    if issubclass(instance.cls, list):
        return instance.iterate(tx), NONE
    if issubclass(instance.cls, dict) and not overrides(instance.cls, dict, "items"):
        return NONE, instance.attribute(tx, "items").call(tx, (), {}).realize().iterate(tx)
    return instance.unsupported("__reduce_ex__"), NONE
