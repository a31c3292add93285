"""Classes as values: attributes (metaclass first), calls, attribute stores that are replayed after the graph.

Creating instances is in `construction`, enumerations in `enums`, `type(...)` and `isinstance` in `callables`.
"""

import enum
import typing
from collections.abc import Hashable, Iterator
from types import BuiltinFunctionType, ClassMethodDescriptorType, FunctionType
from typing import Final, final

import torch

from framesmith.guards import Guard, Reason, Source
from framesmith.guards.class_lookup import (
    class_name,
    comes_first,
    defines,
    is_data_descriptor,
    is_immutable,
    is_one_of,
    native_class_name,
    static_lookup,
    type_dict,
)
from framesmith.guards.kinds import Identical
from framesmith.guards.sources import Attribute, Pinned
from framesmith.variables.callables.attribute_functions import attribute_name
from framesmith.variables.core.base import (
    Arguments,
    FieldDescriptor,
    Keywords,
    PendingCall,
    TraceContext,
    Tracker,
    Writer,
    run_pending,
)
from framesmith.variables.core.builtin_methods import Builtin
from framesmith.variables.core.constant import Constant, is_constant_type
from framesmith.variables.core.folding import fold
from framesmith.variables.core.known_value import KnownValue
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import row_of
from framesmith.variables.objects import container_slots, object_slots, operator_slots
from framesmith.variables.objects.construction import begin_construct
from framesmith.variables.objects.descriptors import (
    NATIVE_METHODS,
    begin_get,
    bind_class_method,
    getter_of,
    read_member,
)
from framesmith.variables.objects.lookup import Found, class_source, find
from framesmith.variables.objects.native_enums import NATIVE_GETTER
from framesmith.variables.objects.special_methods import begin_method_call, call_method, find_special_method

ROWS: Final = Rows()

_READABLE: Final = frozenset(
    {"__name__", "__qualname__", "__module__", "__doc__", "__mro__", "__bases__", "__base__", "__annotations__",
     "__flags__", "__basicsize__", "__dictoffset__", "__dict__", "__type_params__"}
)  # fmt: skip


_OF_TENSORS: Final = (torch.Tensor, torch.nn.Parameter)
"""Tensors ask these classes for their attributes without a look at what the trace has stored there."""


@final
class ClassTracker(KnownValue[type]):
    """An existing class. Invariants: guarded by identity; `changes`
    holds the attributes that the trace stored (None: deleted)."""

    tells_changes = False

    def __init__(self, value: type, source: Source | None = None) -> None:
        # A class that comes out of a folded call has no place to be read from; the entry then holds it.
        super().__init__(value, source or class_source(value))
        self.changes: dict[str, Tracker | None] = {}

    # -- slots that the metaclass fills with special methods; `truth` and others are below ---------
    has_special_methods = True
    special_attribute = object_slots.special_attribute
    begin_special = object_slots.begin_special
    iterate = object_slots.iterate
    begin_advance = object_slots.begin_advance
    length = container_slots.length
    ask_length = container_slots.ask_length
    contains = container_slots.contains
    set_subscript = container_slots.set_subscript
    delete_subscript = container_slots.delete_subscript
    operator_method = operator_slots.operator_method
    reflected = operator_slots.reflected
    reflects_first = operator_slots.reflects_first
    inplace = operator_slots.inplace
    unary = operator_slots.unary
    compare = operator_slots.compare

    @property
    def iterates_in_python(self) -> bool:
        """Whether the metaclass defines `__iter__` or `__next__`."""
        return object_slots.iterates_in_python(self)

    def hash_key(self, tx: TraceContext) -> Hashable:
        """A class hashes by identity, unless its metaclass defines `__hash__`."""
        # A metaclass that defines `__eq__` alone has `__hash__ = None`, so this look-up sees that as well.
        if static_lookup(type(self.value), "__hash__") in (type.__hash__, object.__hash__):
            return ("object", self.value)
        key = object_slots.builtin_hash_key(tx, self)
        return self.unsupported("hashing it with a metaclass's own __hash__") if key is None else key

    # -- attributes --------------------------------------------------------------------------------

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker | PendingCall:
        """`cls.name`, by `type.__getattribute__` or the metaclass's
        own; a Python call in tail position may be left pending."""
        meta = type(self.value)
        # pybind11 has a `__getattribute__` of its own, which differs from that of `type` for methods in C alone.
        getter = static_lookup(meta, "__getattribute__")
        if getter is not type.__getattribute__ and getter is not NATIVE_GETTER:
            hook = find(tx, meta, "__getattribute__")
            if hook is None or hook.cls is not FunctionType:
                return self.unsupported(f"reading attribute {name!r}")
            return begin_method_call(tx, self, hook, (Constant(name),))
        return self.begin_generic(tx, name)

    def begin_generic(self, tx: TraceContext, name: str) -> Tracker | PendingCall:
        """`type.__getattribute__(cls, name)`, then `__getattr__` of the metaclass."""
        # EnumMeta refuses to rebind a member, so a member needs no guard, unlike other items of the class.
        if issubclass(self.value, enum.Enum) and name in self.value._member_map_ and not self.changes:
            # A member is an item of the class dictionary, so `type.__getattribute__` would call its own `__get__`.
            if defines(self.value, "__get__"):
                return self.unsupported("a member that is a descriptor")
            return Constant(self.value._member_map_[name])
        # The order of `type_getattro`: a data descriptor of the metaclass, the class, the rest of the metaclass.
        on_meta = find(tx, type(self.value), name)
        if on_meta is not None and comes_first(on_meta.cls):
            return begin_get(tx, on_meta, self)
        found = find(tx, self.value, name)
        if found is not None:
            return self.begin_class_get(tx, found)
        if on_meta is not None:
            return begin_get(tx, on_meta, self)
        fallback = find(tx, type(self.value), "__getattr__")
        if fallback is not None:
            return begin_method_call(tx, self, fallback, (Constant(name),))
        return self.raise_no_attribute(tx, name)

    def raise_no_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Raise AttributeError with the message of `type`."""
        return raise_observed(
            tx, AttributeError, f"type object '{self.value.__name__}' has no attribute '{name}'"
        )

    def begin_class_get(self, tx: TraceContext, found: Found) -> Tracker | PendingCall:
        """The value of a class item read through the class: `item.__get__(None, cls)`."""
        cls = found.cls
        if cls in (FunctionType, BuiltinFunctionType) or static_lookup(cls, "__get__") is static_lookup(
            object, "__get__"
        ):
            return found.tracker(tx)
        if cls is ClassMethodDescriptorType:
            assert isinstance(found.value, ClassMethodDescriptorType)
            return Builtin(found.value.__get__(None, self.value))
        if issubclass(cls, staticmethod):
            return read_member(tx, found, "__func__")
        if issubclass(cls, classmethod):
            return bind_class_method(tx, found, self)
        # Read through the class, a property, slot or method in C gives itself (`__get__(None, cls)`).
        if getter_of(cls) is not None or cls in NATIVE_METHODS:
            return found.tracker(tx)
        hook = find(tx, cls, "__get__")
        if hook is None or hook.cls is not FunctionType:
            return self.unsupported(f"reading attribute {found.name!r}, a {class_name(cls)},")
        return hook.tracker(tx).begin_call(tx, (found.tracker(tx), Constant(None), self), {})

    def read_field(self, tx: TraceContext, descriptor: FieldDescriptor) -> Tracker:
        """The value of a C-level field, `__name__`, `__mro__` ..., guarded; other fields break the graph."""
        name = descriptor.__name__
        if name == "__class__":
            return tx.wrap(type(self.value), class_source(type(self.value)))
        # The real `__dict__` does not have what the trace stored.
        unread = name == "__annotations__" and _has_unread_annotations(self.value)
        if unread or name not in _READABLE or (name == "__dict__" and self.changes):
            return self.unsupported(f"reading attribute {name!r}")
        try:
            real = descriptor.__get__(self.value, type(self.value))
        except AttributeError:
            return self.raise_no_attribute(tx, name)
        # A builtin class cannot change, so its fields need no guard.
        if is_immutable(self.value) and is_constant_type(tx.registry, type(real)):
            return Constant(real)
        return tx.wrap(real, Attribute(class_source(self.value), name))

    # -- changes -----------------------------------------------------------------------------------
    def set_attribute(self, tx: TraceContext, name: str, value: Tracker) -> None:
        """`cls.name = value`."""
        self._change(tx, "__setattr__", name, value)

    def delete_attribute(self, tx: TraceContext, name: str) -> None:
        """`del cls.name`."""
        self._change(tx, "__delattr__", name, None)

    def _change(self, tx: TraceContext, hook_name: str, name: str, value: Tracker | None) -> None:
        hook = find(tx, type(self.value), hook_name)
        if hook is not None and hook.value is type_dict(type)[hook_name]:
            self.change_generic(tx, name, value)
        elif hook is None or hook.cls is not FunctionType:
            self.unsupported(f"storing attribute {name!r}")
        else:
            call_method(tx, self, hook, Constant(name), *(() if value is None else (value,)))

    def change_generic(self, tx: TraceContext, name: str, value: Tracker | None) -> None:
        """`type.__setattr__(cls, name, value)`, or `type.__delattr__`
        if the value is None; breaks for special names."""
        on_meta = find(tx, type(self.value), name)
        # The data descriptor of a metaclass would be called, in place of a store into the class.
        special = name.startswith("__") and name.endswith("__")
        if (
            special
            or is_one_of(self.value, _OF_TENSORS)
            or (on_meta is not None and is_data_descriptor(on_meta.cls))
        ):
            self.unsupported(f"storing attribute {name!r}")
        if is_immutable(self.value):
            shown = native_class_name(self.value)
            raise_observed(tx, TypeError, f"cannot set '{name}' attribute of immutable type '{shown}'")
        if value is None:
            found = find(tx, self.value, name)
            if found is None or found.owner is not self.value:
                self.raise_no_attribute(tx, name)
            assert found is not None
            # Without the item CPython raises, so the deletion is guarded to have something to delete.
            if found.stored is None:
                tx.guards.add(_guard(found))
        # A class may have several trackers (one is made for a result); all changes are in the first that was changed.
        holder = tx.changes.classes.get(self.value, self)
        assert isinstance(holder, ClassTracker)
        tx.changes.note(holder)
        tx.changes.classes[self.value] = holder
        # Nothing is there to be deleted after the graph.
        if value is None and name not in type_dict(self.value):
            del holder.changes[name]  # stored and deleted within the trace
        else:
            holder.changes[name] = value

    def store_field(self, tx: TraceContext, descriptor: FieldDescriptor, value: Tracker | None) -> None:
        """Break the graph: stores of `__name__` and other C-level fields are not modelled."""
        self.unsupported(f"storing attribute {descriptor.__name__!r}")

    # -- calls and operators -----------------------------------------------------------------------
    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """A call of the class: its row, else the metaclass's `__call__`, else `type.__call__`."""
        row = row_of(tx.registry, self.value)
        if row is not None:
            return row.begin(tx, args, kwargs)
        calling = find(tx, type(self.value), "__call__")
        if calling is not None and calling.value is type_dict(type)["__call__"]:
            return begin_construct(tx, self, self.value, args, kwargs)
        # A plain class is no descriptor: `TypedDict` has `__call__ = dict` in its metaclass.
        if calling is None or calling.cls not in (FunctionType, type):
            return self.unsupported("calling it")
        # `EnumMeta.__call__` is Python code, and has a row. A class has one for its own call, which gets no receiver.
        hook = row_of(tx.registry, calling.value) if calling.cls is FunctionType else None
        if hook is not None:
            return hook.begin(tx, (self, *args), kwargs)
        return begin_method_call(tx, self, calling, args, kwargs)

    def truth(self, tx: TraceContext) -> bool | Tracker:
        """True, unless the metaclass defines the truth."""
        # `type` defines neither `__bool__` nor `__len__`, so the usual class is not looked up.
        return True if type(self.value) is type else object_slots.truth(self, tx)

    def subscript(self, tx: TraceContext, key: Tracker) -> Tracker:
        """`cls[key]`: by `__getitem__` of the metaclass, else by `__class_getitem__`."""
        if find_special_method(tx, self, "__getitem__") is not None:
            return container_slots.subscript(self, tx, key)
        found = find(tx, self.value, "__class_getitem__")
        if found is None and self.value is not type:  # which C code subscripts by itself
            return raise_observed(tx, TypeError, f"type '{self.value.__name__}' is not subscriptable")
        # C code and `typing` only read the class and the parameter, so a known one is folded.
        if found is None or found.owner is typing.Generic or not is_python_class_method(found.value):
            if not key.is_python_constant():
                return self.unsupported(f"a subscript by {key.describe()}")
            return fold(tx, lambda cls, parameter: cls[parameter], (self, key))
        return run_pending(tx, self.begin_class_get(tx, found)).call(tx, (key,), {})

    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`int | None` makes a union; other operators are those of the metaclass."""
        if (
            # The metaclass inherits `type.__or__`, which only puts a union together.
            symbol == "|"
            and static_lookup(type(self.value), "__or__") is type.__or__
            and other.is_python_constant()
        ):
            return fold(tx, lambda left, right: left | right, (self, other))
        return operator_slots.binary(self, tx, symbol, other)

    # -- afterwards --------------------------------------------------------------------------------
    def children(self) -> Iterator[Tracker]:
        """The attributes that the trace stored."""
        return (value for value in self.changes.values() if value is not None)

    def replay(self, writer: Writer) -> None:
        """Make the stores and deletions on the real class."""
        place = writer.constant(self.value, self.value.__name__)
        for name, value in self.changes.items():
            if value is None:
                writer.statement(f"{writer.constant(type.__delattr__, 'delete_on_class')}({place}, {name!r})")
            else:
                # The `__setattr__` of a metaclass was traced already, down to the stores that are replayed here.
                store = writer.constant(type.__setattr__, "set_on_class")
                writer.statement(f"{store}({place}, {name!r}, {writer.value(value)})")

    def describe(self) -> str:
        """`class Model`, for messages."""
        return f"class {self.value.__qualname__}"


def _has_unread_annotations(cls: type) -> bool:
    """Whether reading `__annotations__` runs code of the user (PEP 649, since 3.14). Once read, the class holds them."""
    held = type_dict(cls)
    makers = (held.get("__annotate_func__"), held.get("__annotate__"))
    return "__annotations_cache__" not in held and any(one is not None for one in makers)


def is_python_class_method(item: object) -> bool:
    """Whether a class item is a class method of a Python function."""
    return isinstance(item, classmethod) and isinstance(item.__func__, FunctionType)


def _guard(found: Found) -> Guard:
    return Guard(found.source, Identical(found.value), Reason("the trace deletes it", None))


@ROWS.wrap_when(40, lambda _, cls: issubclass(cls, type))
def wrap_class(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing class, guarded by identity."""
    assert isinstance(value, type)
    # A pinned class is a constant of the entry: it cannot be another one.
    if not isinstance(source, Pinned):
        tx.guard(source, Identical(value))
    return ClassTracker(value, source)


def class_of(tx: TraceContext, value: object) -> ClassTracker:
    """The tracker of a class that is the result of a folded call."""
    assert isinstance(value, type)
    return ClassTracker(value)


ROWS.build(class_of, type)


@ROWS.call(type.__call__)
def type_call(tx: TraceContext, self: Tracker, /, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
    """`type.__call__(cls, ...)`, as the `__call__` of a metaclass calls it."""
    if not isinstance(self, ClassTracker):
        return self.unsupported("type.__call__")
    return begin_construct(tx, self, self.value, args, kwargs)


@ROWS.call(type.__setattr__)
def type_setattr(tx: TraceContext, self: Tracker, name: Tracker, value: Tracker, /) -> Tracker:
    """`type.__setattr__(cls, name, value)`."""
    if not isinstance(self, ClassTracker):
        return self.unsupported("type.__setattr__")
    self.change_generic(tx, attribute_name(tx, name, "type.__setattr__"), value)
    return Constant(None)


@ROWS.call(type.__getattribute__)
def type_getattribute(tx: TraceContext, self: Tracker, name: Tracker, /) -> Tracker | PendingCall:
    """`type.__getattribute__(cls, name)`."""
    if not isinstance(self, ClassTracker):
        return self.unsupported("type.__getattribute__")
    return self.begin_generic(tx, attribute_name(tx, name, "type.__getattribute__"))
