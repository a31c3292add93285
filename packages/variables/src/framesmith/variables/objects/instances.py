"""Instances: existing objects and those created in the trace, and access to their attributes.

Attribute look-up follows `object.__getattribute__` (Python data model, "Invoking descriptors"). An instance has
`own_attributes`, its dictionary and slots, and answers other slots with special methods, which are in `object_slots`,
`container_slots` and `operator_slots`. The code written after the graph is in `instance_writing`, creation in `construction`.
"""

from collections.abc import Hashable, Iterable, Iterator
from types import GetSetDescriptorType
from typing import Final, Protocol

from framesmith.guards import Source
from framesmith.guards.class_lookup import (
    MISSING,
    comes_first,
    is_data_descriptor,
    is_heap_type,
    static_lookup,
)
from framesmith.guards.kinds import TypeIs
from framesmith.variables.builtin_types.dicts import DictTracker
from framesmith.variables.core.attribute_errors import missing_attribute, missing_slot
from framesmith.variables.core.base import (
    Arguments,
    FieldDescriptor,
    Keywords,
    NativeMethod,
    PendingCall,
    TraceContext,
    Tracker,
    Writer,
    run_pending,
)
from framesmith.variables.core.builtin_type import builtin_type, is_generic_access
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.observed import ObservedException, is_observed_instance
from framesmith.variables.core.overrides import defines_override
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.remains import REMAINS
from framesmith.variables.core.rows import Rows
from framesmith.variables.objects import container_slots, object_slots, operator_slots
from framesmith.variables.objects.dataclasses import dataclass_key
from framesmith.variables.objects.descriptors import NATIVE_METHODS, InplaceMethod, begin_get, set_through
from framesmith.variables.objects.instance_writing import build_instance, replay_instance
from framesmith.variables.objects.lookup import Found, class_source, find
from framesmith.variables.objects.own_attributes import OwnAttributes, has_dict
from framesmith.variables.objects.special_methods import begin_method_call, call_method, overrides_iteration
from framesmith.variables.operations.binary import METHODS as BINARY_METHODS

ROWS: Final = Rows()

_INPLACE_METHODS: Final = frozenset(f"__i{name}__" for name in BINARY_METHODS.values())

ROWS.generic_access(object, property, staticmethod, classmethod)


def is_generic(tx: TraceContext, found: Found | None, name: str) -> bool:
    """Whether the class inherits this method of attribute access
    (`__getattribute__` ...) from `object` or a builtin type."""
    return found is not None and found.stored is None and is_generic_access(tx.registry, found.value, name)


class Shortcuts(Protocol):
    """What a family of classes does for attributes and calls of its instances, answered without tracing its code.

    None (False) leaves the operation to the code of the class.
    """

    @property
    def guards_dict(self) -> bool:
        """Whether the type of an instance dictionary is guarded: a program may assign one of a subclass of dict,
        whose code a guard would run."""

    def begin_attribute(
        self, tx: TraceContext, instance: "InstanceTracker", name: str
    ) -> Tracker | PendingCall | None:
        """`instance.name`."""

    def begin_call(
        self, tx: TraceContext, instance: "InstanceTracker", args: Arguments, kwargs: Keywords
    ) -> Tracker | PendingCall | None:
        """`instance(*args, **kwargs)`."""

    def set_attribute(self, tx: TraceContext, instance: "InstanceTracker", name: str, value: Tracker) -> bool:
        """`instance.name = value`; whether it was stored."""


class InstanceTracker(Tracker):
    """An object of class `kind`.

    Invariants: `value` and `source` are given together, for an existing object; `own` holds the instance dictionary and
    the slots.
    """

    tells_changes = True

    def __init__(
        self,
        cls: type,
        value: object | None = None,
        source: Source | None = None,
        builtin_part: Tracker | None = None,
        shortcuts: Shortcuts | None = None,
    ) -> None:
        self.cls = cls
        self.value = value
        self.source = source
        self.builtin_part = builtin_part
        self.shortcuts = shortcuts
        if isinstance(builtin_part, DictTracker):
            # For the dict's `__missing__` and overrides, which C code looks up on the instance.
            builtin_part.owner = self
        self.own = OwnAttributes(cls, value, source, shortcuts is None or shortcuts.guards_dict)

    @property
    def python_type(self) -> type:
        """The class of the object."""
        return self.cls

    def builtin_part_or_self(self, tx: TraceContext) -> Tracker:
        """The builtin part, or `self` without one. Breaks the graph
        for a builtin base whose content is not modelled."""
        if self.builtin_part is not None:
            return self.builtin_part.builtin_part_or_self(tx)
        return self if builtin_type(tx, self.cls) is None else self.unsupported("use of its content")

    def begin_own_init(
        self, tx: TraceContext, initializer: Found, args: Arguments, kwargs: Keywords
    ) -> Tracker | None:
        """What the call of the class gives, `__init__` included, where more is to be done than calling that; None elsewhere."""
        return None

    # -- slots that the class fills with special methods -------------------------------------------
    has_special_methods = True
    special_attribute = object_slots.special_attribute
    begin_special = object_slots.begin_special
    iterate = object_slots.iterate
    begin_advance = object_slots.begin_advance
    length = container_slots.length
    ask_length = container_slots.ask_length
    truth = object_slots.truth
    contains = container_slots.contains
    subscript = container_slots.subscript
    set_subscript = container_slots.set_subscript
    delete_subscript = container_slots.delete_subscript
    binary = operator_slots.binary
    operator_method = operator_slots.operator_method
    reflected = operator_slots.reflected
    reflects_first = operator_slots.reflects_first
    inplace = operator_slots.inplace
    unary = operator_slots.unary
    compare = operator_slots.compare

    @property
    def iterates_in_python(self) -> bool:
        """Whether the class defines `__iter__` or `__next__`."""
        return object_slots.iterates_in_python(self)

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """`self(*args, **kwargs)`."""
        begun = None if self.shortcuts is None else self.shortcuts.begin_call(tx, self, args, kwargs)
        return object_slots.begin_call(self, tx, args, kwargs) if begun is None else begun

    def hash_key(self, tx: TraceContext) -> Hashable:
        """As C code hashes it, or for a data class with generated methods by its fields; other classes that define
        hash or equality break the graph."""
        key = object_slots.builtin_hash_key(tx, self)
        if key is None:
            key = dataclass_key(tx, self)
        return self.unsupported("hashing it with a __hash__ or __eq__ of its own") if key is None else key

    # -- reading -----------------------------------------------------------------------------------

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker | PendingCall:
        """`self.name`: `__getattribute__`, then `__getattr__` if that raised AttributeError."""
        if self.shortcuts is not None:
            found = self.shortcuts.begin_attribute(tx, self, name)
            if found is not None:
                return found
        # The look-up has to end here: if it raises AttributeError,
        # `__getattr__` is called. Without one it may stay pending.
        if static_lookup(self.cls, "__getattr__") is not MISSING:
            try:
                return run_pending(tx, self._begin_lookup(tx, name))
            except ObservedException as error:
                fallback = find(tx, self.cls, "__getattr__")
                if fallback is None or not is_observed_instance(error, AttributeError):
                    raise
                return begin_method_call(tx, self, fallback, (Constant(name),))
        try:
            result = self._begin_lookup(tx, name)
        except ObservedException:
            # for its guard: a class that gains `__getattr__` later would be called
            find(tx, self.cls, "__getattr__")
            raise
        if isinstance(result, PendingCall):
            # for its guard, as above
            find(tx, self.cls, "__getattr__")
        return result

    def _begin_lookup(self, tx: TraceContext, name: str) -> Tracker | PendingCall:
        hook = find(tx, self.cls, "__getattribute__")
        if is_generic(tx, hook, "__getattribute__"):
            return self.begin_generic(tx, name)
        # C code that is not known to be generic may do anything, such as reading attributes from elsewhere.
        if hook is None or (hook.stored is None and isinstance(hook.value, NATIVE_METHODS)):
            return self.unsupported(f"reading attribute {name!r}")
        return begin_method_call(tx, self, hook, (Constant(name),))

    def begin_generic(self, tx: TraceContext, name: str) -> Tracker | PendingCall:
        """`object.__getattribute__(self, name)`: a data descriptor, then the instance dictionary, then the class."""
        found = find(tx, self.cls, name)
        if found is not None and comes_first(found.cls):
            return begin_get(tx, found, self)
        own = self.own.load(tx, self, name)
        if own is not None:
            # If the item of the class became a data descriptor, that would hide it: `find` guards the type.
            return own
        if found is not None:
            return begin_get(tx, found, self)
        return missing_attribute(tx, self, name)

    # -- writing -----------------------------------------------------------------------------------
    def set_attribute(self, tx: TraceContext, name: str, value: Tracker) -> None:
        """`self.name = value`."""
        if self.shortcuts is not None and self.shortcuts.set_attribute(tx, self, name, value):
            return
        self._change(tx, "__setattr__", name, value)

    def delete_attribute(self, tx: TraceContext, name: str) -> None:
        """`del self.name`."""
        self._change(tx, "__delattr__", name, None)

    def _change(self, tx: TraceContext, hook_name: str, name: str, value: Tracker | None) -> None:
        hook = find(tx, self.cls, hook_name)
        if is_generic(tx, hook, hook_name):
            self.change_generic(tx, name, value)
        elif hook is None:
            self.unsupported(f"storing attribute {name!r}")
        else:
            call_method(tx, self, hook, Constant(name), *(() if value is None else (value,)))

    def change_generic(self, tx: TraceContext, name: str, value: Tracker | None) -> None:
        """`object.__setattr__(self, name, value)`, or `object.__delattr__` for None."""
        found = find(tx, self.cls, name)
        if found is not None and is_data_descriptor(found.cls):
            set_through(tx, found, self, value)
        # An item of the class without a place in the instance is read-only: CPython has a message of its own for it.
        elif not has_dict(self.cls):
            missing_attribute(tx, self, name, storing=True, read_only=found is not None)
        else:
            if value is None:
                self.own.delete(tx, self, name)
            else:
                self.own.store(tx, self, name, value)

    def store_own(self, tx: TraceContext, name: str, value: Tracker) -> None:
        """Store into the instance dictionary."""
        self.own.store(tx, self, name, value)

    # -- slots and C fields ------------------------------------------------------------------------
    def read_field(self, tx: TraceContext, descriptor: FieldDescriptor) -> Tracker:
        """The value of a slot, or of `__class__` or `__dict__`; AttributeError for an unset slot."""
        # A class may give instances their `__dict__` by a member or by a computed field.
        if isinstance(descriptor, GetSetDescriptorType) or descriptor.__name__ == "__dict__":
            return self.read_computed(tx, descriptor)
        # A C field of a new object: what the constructor in C would have put there is not known.
        if self.source is None and not is_heap_type(descriptor.__objclass__):
            return self.unsupported(f"reading attribute {descriptor.__name__!r}")
        held = self.own.load_slot(tx, descriptor)
        return missing_slot(tx, self, descriptor.__name__) if held is None else held

    def bind_native(self, tx: TraceContext, descriptor: NativeMethod) -> Tracker | None:
        """An in-place method in C works on the builtin part, and gives the object itself. `copy()` of a dict subclass
        with its own `__iter__` breaks the graph, since C code then calls it."""
        name = descriptor.__name__
        if name == "copy" and overrides_iteration(self):
            return self.unsupported("copy() with an __iter__ of its own")
        in_place = name in _INPLACE_METHODS and self.builtin_part_or_self(tx) is not self
        return InplaceMethod(descriptor, self) if in_place else None

    def read_computed(self, tx: TraceContext, descriptor: FieldDescriptor) -> Tracker:
        """`__class__` and `__dict__`; other computed C attributes break the graph."""
        if descriptor.__name__ == "__class__" and descriptor.__objclass__ is object:
            return tx.wrap(self.cls, class_source(self.cls))
        if descriptor.__name__ == "__dict__":
            return self.own.dictionary(tx, self)
        return self.unsupported(f"reading attribute {descriptor.__name__!r}")

    def store_field(self, tx: TraceContext, descriptor: FieldDescriptor, value: Tracker | None) -> None:
        """Store into (None: delete) a slot of a Python class; C fields break the graph."""
        if isinstance(descriptor, GetSetDescriptorType) or not is_heap_type(descriptor.__objclass__):
            self.unsupported(f"storing attribute {descriptor.__name__!r}")
        if value is None:
            try:
                # For its guard that the slot is set: deleting an empty one raises the bare name.
                self.read_field(tx, descriptor)
            except ObservedException:
                raise_observed(tx, AttributeError, descriptor.__name__)
        self.own.store_slot(tx, self, descriptor, value)

    # -- afterwards --------------------------------------------------------------------------------
    def children(self) -> Iterator[Tracker]:
        """The attributes, slots and parts that the trace stored."""
        yield from self.own.children()
        yield from (part for part in (self.builtin_part, self.own.namespace) if part is not None)

    def reconstruct(self, writer: Writer) -> str:
        """A new object of the class, filled without user code."""
        return build_instance(self, self.own, writer)

    def is_restored(self) -> bool:
        """Whether all attributes are what they were. What a builtin part holds is not compared."""
        return self.builtin_part is None and self.own.is_restored()

    def replay(self, writer: Writer) -> None:
        """Make the changes on the existing object."""
        replay_instance(self.own, writer)


# The last test, for what no other rule has taken.
@ROWS.wrap_when(90, lambda _, cls: True)
def wrap_instance(tx: TraceContext, value: object, source: Source) -> Tracker:
    """Any other object: its class is guarded, and its attributes when they are read."""
    cls = type(value)
    tx.guard(source, TypeIs(cls))
    # Objects that are no tensors override torch's functions too.
    if defines_override(cls):
        tx.changes.overrides.is_watched = True
    return InstanceTracker(cls, value, source)


@ROWS.entry(REMAINS, InstanceTracker)
def instance_remains(tracker: InstanceTracker) -> Iterable[object]:
    """The attributes that the trace did not store or delete."""
    return tracker.own.remains()
