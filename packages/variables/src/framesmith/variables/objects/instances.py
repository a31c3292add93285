"""Instances: existing objects and those created in the trace, and their own attributes.

Attribute look-up follows `object.__getattribute__` (Python data model, "Invoking descriptors"). Slots that call
special methods are in `special_methods`, the code written after the graph in `instance_writing`, creation in
`construction`.
"""

import gc
from collections.abc import Callable, Hashable, Iterable, Iterator
from types import GetSetDescriptorType, MemberDescriptorType, SimpleNamespace
from typing import Final, Protocol

from framesmith.guards import Source
from framesmith.guards.class_lookup import (
    MISSING,
    dict_offset,
    is_data_descriptor,
    is_heap_type,
    static_lookup,
)
from framesmith.guards.kinds import EqualTo, HasInstanceAttribute, HasKey, TypeIs
from framesmith.guards.sources import Attribute, CallResult, InstanceItem, Item
from framesmith.guards.sources.steps import InstanceDict
from framesmith.guards.words import a_type
from framesmith.variables.builtin_types.dicts import DictTracker, new_dict
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
from framesmith.variables.core.builtin_type import is_generic_access
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.observed import ObservedException, is_observed_instance
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.remains import REMAINS
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.wrap_rules import wrap_found
from framesmith.variables.objects.attribute_errors import missing_attribute, missing_slot
from framesmith.variables.objects.dataclasses import dataclass_key
from framesmith.variables.objects.descriptors import NATIVE_METHODS, begin_get, set_through
from framesmith.variables.objects.instance_writing import build_instance, replay_instance
from framesmith.variables.objects.lookup import Found, class_source, find
from framesmith.variables.objects.special_methods import SpecialMethods, overrides_iteration

ROWS: Final = Rows()

ROWS.generic_access(object, property, staticmethod, classmethod)


def has_dict(kind: type) -> bool:
    """Whether instances have a `__dict__`."""
    return dict_offset(kind) != 0


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


class InstanceTracker(SpecialMethods):
    """An object of class `kind`.

    Invariants: `value` and `source` are given together, for an existing object; `pending`, `deleted` and `slots` hold
    what the trace changed; once `namespace` is there it holds the instance dictionary instead.
    """

    def __init__(
        self,
        kind: type,
        value: object | None = None,
        source: Source | None = None,
        payload: Tracker | None = None,
        shortcuts: Shortcuts | None = None,
    ) -> None:
        self.kind = kind
        self.value = value
        self.source = source
        self.payload = payload
        self.shortcuts = shortcuts
        if isinstance(payload, DictTracker):
            payload.owner = self
        self.pending: dict[str, Tracker] = {}
        self.deleted: dict[str, None] = {}
        self.slots: dict[FieldDescriptor, Tracker | None] = {}
        self.namespace: DictTracker | None = None
        self._read: dict[str, Tracker] = {}
        self._read_slots: dict[FieldDescriptor, Tracker] = {}
        self._readers: dict[object, Callable[..., object]] = {}

    @property
    def python_type(self) -> type:
        """The class of the object."""
        return self.kind

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """`self(*args, **kwargs)`."""
        begun = None if self.shortcuts is None else self.shortcuts.begin_call(tx, self, args, kwargs)
        return super().begin_call(tx, args, kwargs) if begun is None else begun

    def known_attribute(self, name: str) -> Tracker | None:
        """The attribute of its own that the trace has read or stored; nothing is read for it."""
        return self._read.get(name) or self.pending.get(name)

    # -- reading -----------------------------------------------------------------------------------

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker | PendingCall:
        """`self.name`: `__getattribute__`, then `__getattr__` if that raised AttributeError."""
        if self.shortcuts is not None:
            found = self.shortcuts.begin_attribute(tx, self, name)
            if found is not None:
                return found
        if static_lookup(self.kind, "__getattr__") is not MISSING:
            try:
                return run_pending(tx, self._begin_lookup(tx, name))
            except ObservedException as error:
                fallback = find(tx, self.kind, "__getattr__")
                if fallback is None or not is_observed_instance(error, AttributeError):
                    raise
                return self.begin_method_call(tx, fallback, (Constant(name),))
        try:
            result = self._begin_lookup(tx, name)
        except ObservedException:
            # for its guard: a class that gains `__getattr__` later would be called
            find(tx, self.kind, "__getattr__")
            raise
        if isinstance(result, PendingCall):
            # for its guard, as above
            find(tx, self.kind, "__getattr__")
        return result

    def _begin_lookup(self, tx: TraceContext, name: str) -> Tracker | PendingCall:
        hook = find(tx, self.kind, "__getattribute__")
        if is_generic(tx, hook, "__getattribute__"):
            return self.begin_generic(tx, name)
        if hook is None or (hook.stored is None and isinstance(hook.value, NATIVE_METHODS)):
            return self.unsupported(f"reading attribute {name!r}")
        return self.begin_method_call(tx, hook, (Constant(name),))

    def begin_generic(self, tx: TraceContext, name: str) -> Tracker | PendingCall:
        """`object.__getattribute__(self, name)`: a data descriptor, then the instance dictionary, then the class."""
        found = find(tx, self.kind, name)
        if found is not None and is_data_descriptor(found.kind):
            return begin_get(tx, found, self)
        own = self.load_own(tx, name)
        if own is not None:
            if found is not None:
                found.guard_kind(tx)
            return own
        if found is not None:
            return begin_get(tx, found, self)
        return missing_attribute(tx, self, name)

    def load_own(self, tx: TraceContext, name: str) -> Tracker | None:
        """The attribute in the instance dictionary, or None when it has none, which is guarded."""
        if self.namespace is not None:
            return self.namespace.get_item(tx, Constant(name))
        if name in self.pending:
            return self.pending[name]
        if name in self._read or name in self.deleted or self.source is None or not has_dict(self.kind):
            return None if name in self.deleted else self._read.get(name)
        real = self._real_dict()
        if (self.shortcuts is None or self.shortcuts.guards_dict) and self._is_plain(tx):
            tx.guard(InstanceDict(self.source), TypeIs(dict), "its attributes are read")
        if name not in real:
            if tx.guards.facts is not None:
                tx.note("is not there", self._dict_source(tx), name)
            self._guard_own(tx, name, False)
            return None
        plain = self._is_plain(tx)
        source = InstanceItem(self.source, name) if plain else Item(self._dict_source(tx), name)
        self._read[name] = wrap_found(tx, real[name], source)
        return self._read[name]

    def _guard_own(self, tx: TraceContext, name: str, present: bool) -> None:
        """Guard that the existing object has, or has not, the attribute in its own dictionary."""
        if self._is_plain(tx):
            tx.guard(self, HasInstanceAttribute(name, present))
        else:
            tx.guard(self._dict_source(tx), HasKey(name, present))

    def _is_plain(self, tx: TraceContext) -> bool:
        """Whether reading `__dict__` runs no user code."""
        reader = static_lookup(self.kind, "__getattribute__")
        return is_generic_access(tx.registry, reader, "__getattribute__")

    def _dict_reader(self) -> Callable[..., object]:
        """A function that reads the real `__dict__` without user code."""
        descriptor = static_lookup(self.kind, "__dict__")
        if not isinstance(descriptor, FieldDescriptor):
            return self.unsupported("a __dict__ of its own making")
        return self._readers.setdefault("__dict__", descriptor.__get__)

    def _real_dict(self) -> dict[str, object]:
        real = self._dict_reader()(self.value)
        if type(real) is not dict:
            self.unsupported(f"reading its attributes (its __dict__ is {a_type(type(real))})")
        assert isinstance(real, dict)
        return real

    def _dict_source(self, tx: TraceContext) -> Source:
        """The source of the real `__dict__`. Its type is guarded where
        user code decides how it is read, so that later reads are safe."""
        assert self.source is not None
        if self._is_plain(tx):
            return InstanceDict(self.source)
        source = CallResult(self.source, self._dict_reader())
        tx.guard(source, TypeIs(type(self._real_dict())), "its attributes are read")
        return source

    def own_dict(self, tx: TraceContext) -> Tracker:
        """`self.__dict__`; from now on it holds the attributes, instead of `pending` and `deleted`."""
        if self.namespace is not None:
            return self.namespace
        if self.source is None and issubclass(self.kind, SimpleNamespace):
            return self.unsupported("reading its __dict__")  # no other one can be set on it after the graph
        if self.source is None:
            self.namespace = new_dict([(Constant(name), value) for name, value in self.pending.items()])
        else:
            real = tx.wrap(self._real_dict(), self._dict_source(tx))
            assert isinstance(real, DictTracker)
            for name in self.deleted:
                real.remove(tx, Constant(name))
            for name, value in self.pending.items():
                real.store(tx, Constant(name), value)
            self.namespace = real
            tx.changes.note(
                self
            )  # the dictionary may be changed: guards have to tell this object from others
        self.pending, self.deleted = {}, {}
        return self.namespace

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
        hook = find(tx, self.kind, hook_name)
        if is_generic(tx, hook, hook_name):
            self.change_generic(tx, name, value)
        elif hook is None:
            self.unsupported(f"storing attribute {name!r}")
        else:
            self.call_method(tx, hook, Constant(name), *(() if value is None else (value,)))

    def change_generic(self, tx: TraceContext, name: str, value: Tracker | None) -> None:
        """`object.__setattr__(self, name, value)`, or `object.__delattr__` for None."""
        found = find(tx, self.kind, name)
        if found is not None and is_data_descriptor(found.kind):
            set_through(tx, found, self, value)
        elif not has_dict(self.kind):
            missing_attribute(tx, self, name, storing=True, read_only=found is not None)
        else:
            if found is not None:
                found.guard_kind(tx)
            if value is None:
                self.delete_own(tx, name)
            else:
                self.store_own(tx, name, value)

    def store_own(self, tx: TraceContext, name: str, value: Tracker) -> None:
        """Store into the instance dictionary."""
        if self.namespace is not None:
            self.namespace.store(tx, Constant(name), value)
            return
        tx.changes.note(self)
        self.pending[name] = value

    def delete_own(self, tx: TraceContext, name: str) -> None:
        """Delete from the instance dictionary; AttributeError when it has no such attribute."""
        if self.load_own(tx, name) is None:
            missing_attribute(tx, self, name)
        if self.namespace is not None:
            self.namespace.remove(tx, Constant(name))
            return
        existing = self.source is not None and name in self._real_dict()
        if self.source is not None:
            self._guard_own(tx, name, existing)  # so that there is something to delete, or not
        tx.changes.note(self)
        self.pending.pop(name, None)
        if existing:
            self.deleted[name] = None

    # -- slots and C fields ------------------------------------------------------------------------
    def read_field(self, tx: TraceContext, descriptor: FieldDescriptor) -> Tracker:
        """The value of a slot, or of `__class__` or `__dict__`; AttributeError for an unset slot."""
        if descriptor in self.slots or descriptor in self._read_slots:
            held = self.slots.get(descriptor, self._read_slots.get(descriptor))
            return missing_slot(tx, self, descriptor.__name__) if held is None else held
        if isinstance(descriptor, GetSetDescriptorType) or descriptor.__name__ == "__dict__":
            return self.read_computed(tx, descriptor)
        if self.source is None:
            if not is_heap_type(descriptor.__objclass__):
                return self.unsupported(f"reading attribute {descriptor.__name__!r}")
            return missing_slot(tx, self, descriptor.__name__)
        return self._read_slot(tx, descriptor)

    def _read_slot(self, tx: TraceContext, descriptor: MemberDescriptorType) -> Tracker:
        assert self.source is not None
        try:
            real = descriptor.__get__(self.value, self.kind)
        except AttributeError:
            probe = self._readers.setdefault((descriptor, "probe"), _probe(descriptor))
            tx.guard(CallResult(self.source, probe), EqualTo(False))
            return missing_slot(tx, self, descriptor.__name__)
        if self._is_plain(tx) and static_lookup(self.kind, descriptor.__name__) is descriptor:
            source: Source = Attribute(self.source, descriptor.__name__)
        else:
            source = CallResult(self.source, self._readers.setdefault(descriptor, descriptor.__get__))
        tx.note("is there", source)
        self._read_slots[descriptor] = wrap_found(tx, real, source)
        return self._read_slots[descriptor]

    def bind_native(self, tx: TraceContext, descriptor: NativeMethod) -> Tracker | None:
        """The bound C method. `copy()` of a dict subclass with its own
        `__iter__` breaks the graph, since C code then calls it."""
        if descriptor.__name__ == "copy" and overrides_iteration(self):
            return self.unsupported("copy() with an __iter__ of its own")
        return super().bind_native(tx, descriptor)

    def read_computed(self, tx: TraceContext, descriptor: FieldDescriptor) -> Tracker:
        """`__class__` and `__dict__`; other computed C attributes break the graph."""
        if descriptor.__name__ == "__class__" and descriptor.__objclass__ is object:
            return tx.wrap(self.kind, class_source(self.kind))
        if descriptor.__name__ == "__dict__":
            return self.own_dict(tx)
        return self.unsupported(f"reading attribute {descriptor.__name__!r}")

    def store_field(self, tx: TraceContext, descriptor: FieldDescriptor, value: Tracker | None) -> None:
        """Store into (None: delete) a slot of a Python class; C fields break the graph."""
        if isinstance(descriptor, GetSetDescriptorType) or not is_heap_type(descriptor.__objclass__):
            self.unsupported(f"storing attribute {descriptor.__name__!r}")
        if value is None:
            try:
                self.read_field(tx, descriptor)
            except ObservedException:
                raise_observed(tx, AttributeError, descriptor.__name__)
        tx.changes.note(self)
        self.slots[descriptor] = value

    def structural_key(self, tx: TraceContext) -> Hashable:
        """The key of a dataclass with generated methods, made of its fields; other classes break the graph."""
        key = dataclass_key(tx, self)
        return super().structural_key(tx) if key is None else key

    # -- afterwards --------------------------------------------------------------------------------
    def children(self) -> Iterator[Tracker]:
        """The attributes, slots and parts that the trace stored."""
        yield from self.pending.values()
        yield from (value for value in self.slots.values() if value is not None)
        yield from (part for part in (self.payload, self.namespace) if part is not None)

    def reconstruct(self, writer: Writer) -> str:
        """A new object of the class, filled without user code."""
        return build_instance(self, writer)

    def replay(self, writer: Writer) -> None:
        """Make the changes on the existing object."""
        replay_instance(self, writer)


def _probe(descriptor: MemberDescriptorType) -> Callable[[object], bool]:
    """A function that says whether a slot is set."""

    def is_set(instance: object) -> bool:
        try:
            descriptor.__get__(instance, type(instance))
        except AttributeError:
            return False
        return True

    return is_set


def load_attribute(tx: TraceContext, instance: InstanceTracker, name: str) -> Tracker:
    """`object.__getattribute__(instance, name)`, run to its end."""
    return run_pending(tx, instance.begin_generic(tx, name))


@ROWS.wrap_when(90, lambda _, value: True)
def wrap_instance(tx: TraceContext, value: object, source: Source) -> Tracker:
    """Any other object: its class is guarded, and its attributes when they are read."""
    tx.guard(source, TypeIs(type(value)))
    return InstanceTracker(type(value), value, source)


@ROWS.entry(REMAINS, InstanceTracker)
def instance_remains(tracker: InstanceTracker) -> Iterable[object]:
    """The attributes that the trace did not store or delete."""
    reader = static_lookup(tracker.kind, "__dict__")
    if tracker.value is None or tracker.namespace is not None:
        return ()
    if not isinstance(reader, GetSetDescriptorType):
        return () if tracker.slots else gc.get_referents(tracker.value)
    changed = {*tracker.pending, *tracker.deleted}
    return [value for name, value in reader.__get__(tracker.value).items() if name not in changed]
