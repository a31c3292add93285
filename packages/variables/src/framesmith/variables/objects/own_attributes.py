"""`OwnAttributes`: the instance dictionary and the slots of one object, read from a real one and changed by the trace.

Which attribute a program means, descriptors and special methods included, is decided in `instances`; what is written
after the graph is in `instance_writing`. Nothing here runs code of the user.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from types import GetSetDescriptorType, MemberDescriptorType, SimpleNamespace
from typing import final

from framesmith.guards import Source
from framesmith.guards.class_lookup import dict_offset, static_lookup
from framesmith.guards.kinds import EqualTo, HasInstanceAttribute, HasKey, TypeIs
from framesmith.guards.sources import Attribute, CallResult, InstanceItem, Item
from framesmith.guards.sources.steps import InstanceDict
from framesmith.guards.words import a_type
from framesmith.variables.builtin_types.dicts import DictTracker, make_dict_tracker
from framesmith.variables.core.attribute_errors import missing_attribute
from framesmith.variables.core.base import FieldDescriptor, TraceContext, Tracker
from framesmith.variables.core.builtin_type import is_generic_access
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.restored_values import is_same_value
from framesmith.variables.core.wrap_rules import wrap_found


def has_dict(cls: type) -> bool:
    """Whether instances have a `__dict__`."""
    return dict_offset(cls) != 0


@final
class OwnAttributes:
    """The own attributes of an object of class `kind`.

    Invariants: `value` and `source` are given together, for an existing object; `pending`, `deleted` and `slots` hold
    what the trace changed; once `namespace` is there it holds the instance dictionary instead. The tracker of the
    object is passed in as `holder` where a change is noted or the graph breaks, and never kept: there is no ring.
    """

    def __init__(
        self, cls: type, value: object | None, source: Source | None, guards_dict: bool = True
    ) -> None:
        self.cls = cls
        self.value = value
        self.source = source
        self.guards_dict = guards_dict
        self.pending: dict[str, Tracker] = {}
        self.deleted: dict[str, None] = {}
        self.slots: dict[FieldDescriptor, Tracker | None] = {}
        self.namespace: DictTracker | None = None
        self._read: dict[str, Tracker] = {}
        self._read_slots: dict[FieldDescriptor, Tracker] = {}
        self._readers: dict[object, Callable[..., object]] = {}

    # -- the instance dictionary -------------------------------------------------------------------
    def known(self, name: str) -> Tracker | None:
        """The attribute that the trace has read or stored; nothing is read for it."""
        return self._read.get(name) or self.pending.get(name)

    def load(self, tx: TraceContext, holder: Tracker, name: str) -> Tracker | None:
        """The attribute in the instance dictionary, or None when it has none, which is guarded."""
        if self.namespace is not None:
            return self.namespace.get_item(tx, Constant(name))
        if name in self.pending:
            return self.pending[name]
        # A deleted name hides what was read of the real dictionary.
        if name in self._read or name in self.deleted or self.source is None or not has_dict(self.cls):
            return None if name in self.deleted else self._read.get(name)
        real = self._real_dict(holder)
        # Before anything is read from it: a dictionary of a subclass of dict
        # would run its code in the guards that follow.
        if self.guards_dict and self._is_plain(tx):
            tx.guard(InstanceDict(self.source), TypeIs(dict), "its attributes are read")
        if name not in real:
            if tx.guards.facts is not None:
                tx.note("is not there", self._dict_source(tx, holder), name)
            self._guard_presence(tx, holder, name, False)
            return None
        plain = self._is_plain(tx)
        # With a `__getattribute__` of the user guards go through the descriptor, which runs none of its code.
        source = InstanceItem(self.source, name) if plain else Item(self._dict_source(tx, holder), name)
        self._read[name] = wrap_found(tx, real[name], source)
        return self._read[name]

    def store(self, tx: TraceContext, holder: Tracker, name: str, value: Tracker) -> None:
        """Store into the instance dictionary."""
        if self.namespace is not None:
            self.namespace.store(tx, Constant(name), value)
            return
        tx.changes.note(holder)
        self.pending[name] = value

    def delete(self, tx: TraceContext, holder: Tracker, name: str) -> None:
        """Delete from the instance dictionary; AttributeError when it has no such attribute."""
        if self.load(tx, holder, name) is None:
            missing_attribute(tx, holder, name, deleting=True)
        if self.namespace is not None:
            self.namespace.remove(tx, Constant(name))
            return
        # A name that the trace itself stored may be absent from the real dictionary; then there is nothing to delete.
        existing = self.source is not None and name in self._real_dict(holder)
        if self.source is not None:
            self._guard_presence(tx, holder, name, existing)  # so that there is something to delete, or not
        tx.changes.note(holder)
        self.pending.pop(name, None)
        if existing:
            self.deleted[name] = None

    def dictionary(self, tx: TraceContext, holder: Tracker) -> Tracker:
        """`holder.__dict__`; from now on it holds the attributes, instead of `pending` and `deleted`."""
        if self.namespace is not None:
            return self.namespace
        if self.source is None and issubclass(self.cls, SimpleNamespace):
            return holder.unsupported("reading its __dict__")  # no other one can be set on it after the graph
        if self.source is None:
            tx.changes.note(holder)
            self.namespace = make_dict_tracker(
                [(Constant(name), value) for name, value in self.pending.items()]
            )
        else:
            # One tracker for the real dictionary, also where the program reaches it in another way (`vars(x)`).
            real = tx.wrap(self._real_dict(holder), self._dict_source(tx, holder))
            assert isinstance(real, DictTracker)
            for name in self.deleted:
                real.remove(tx, Constant(name))
            for name, value in self.pending.items():
                real.store(tx, Constant(name), value)
            self.namespace = real
            # the dictionary may be changed: guards have to tell this object from others
            tx.changes.note(holder)
        self.pending, self.deleted = {}, {}
        return self.namespace

    def _guard_presence(self, tx: TraceContext, holder: Tracker, name: str, present: bool) -> None:
        """Guard that the existing object has, or has not, the attribute in its own dictionary."""
        if self._is_plain(tx):
            tx.guard(self.source, HasInstanceAttribute(name, present))
        else:
            tx.guard(self._dict_source(tx, holder), HasKey(name, present))

    def _is_plain(self, tx: TraceContext) -> bool:
        """Whether reading `__dict__` runs no user code."""
        reader = static_lookup(self.cls, "__getattribute__")
        return is_generic_access(tx.registry, reader, "__getattribute__")

    def _dict_reader(self, holder: Tracker) -> Callable[..., object]:
        """A function that reads the real `__dict__` without user code."""
        descriptor = static_lookup(self.cls, "__dict__")
        if not isinstance(descriptor, FieldDescriptor):
            return holder.unsupported("a __dict__ of its own making")
        # Each reading of `__get__` gives a new object; sources compare their functions, so one is kept.
        return self._readers.setdefault("__dict__", descriptor.__get__)

    def _real_dict(self, holder: Tracker) -> dict[str, object]:
        real = self._dict_reader(holder)(self.value)
        if type(real) is not dict:
            holder.unsupported(f"reading its attributes (its __dict__ is {a_type(type(real))})")
        assert isinstance(real, dict)
        return real

    def _dict_source(self, tx: TraceContext, holder: Tracker) -> Source:
        """The source of the real `__dict__`. Its type is guarded where
        user code decides how it is read, so that later reads are safe."""
        assert self.source is not None
        if self._is_plain(tx):
            return InstanceDict(self.source)
        source = CallResult(self.source, self._dict_reader(holder))
        tx.guard(source, TypeIs(type(self._real_dict(holder))), "its attributes are read")
        return source

    # -- slots -------------------------------------------------------------------------------------
    def load_slot(self, tx: TraceContext, descriptor: MemberDescriptorType) -> Tracker | None:
        """The value of a slot, or None when it is unset, which is guarded."""
        if descriptor in self.slots or descriptor in self._read_slots:
            return self.slots.get(descriptor, self._read_slots.get(descriptor))
        if self.source is None:
            return None
        try:
            real = descriptor.__get__(self.value, self.cls)
        except AttributeError:
            probe = self._readers.setdefault((descriptor, "probe"), _probe(descriptor))
            tx.guard(CallResult(self.source, probe), EqualTo(False))
            return None
        # A subclass may hide a slot under its name; then the descriptor itself reads it.
        if self._is_plain(tx) and static_lookup(self.cls, descriptor.__name__) is descriptor:
            source: Source = Attribute(self.source, descriptor.__name__)
        else:
            source = CallResult(self.source, self._readers.setdefault(descriptor, descriptor.__get__))
        tx.note("is there", source)
        self._read_slots[descriptor] = wrap_found(tx, real, source)
        return self._read_slots[descriptor]

    def store_slot(
        self, tx: TraceContext, holder: Tracker, descriptor: MemberDescriptorType, value: Tracker | None
    ) -> None:
        """Store into a slot, or empty it for None."""
        tx.changes.note(holder)
        self.slots[descriptor] = value

    # -- afterwards --------------------------------------------------------------------------------
    def children(self) -> Iterator[Tracker]:
        """The attributes and slots that the trace stored; the dictionary is apart."""
        yield from self.pending.values()
        yield from (value for value in self.slots.values() if value is not None)

    def is_restored(self) -> bool:
        """Whether the attributes of the existing object are what they were when the trace began."""
        # Slots and deletions are not compared with the original.
        if self.source is None or self.deleted or self.slots:
            return False
        if self.namespace is not None:
            return self.namespace.is_restored()
        reader = static_lookup(self.cls, "__dict__")
        if not isinstance(reader, GetSetDescriptorType):
            return not self.pending
        real: dict[str, object] = reader.__get__(self.value)
        return all(
            name in real and is_same_value(value, real[name], InstanceItem(self.source, name))
            for name, value in self.pending.items()
        )

    def remains(self) -> Iterable[object]:
        """The real attributes that the trace did not store or delete."""
        reader = static_lookup(self.cls, "__dict__")
        if self.value is None or self.namespace is not None:
            return ()
        if not isinstance(reader, GetSetDescriptorType):
            # Without a dictionary the collector knows what the slots refer to;
            # with changed slots it knows the former values.
            return () if self.slots else gc.get_referents(self.value)
        changed = {*self.pending, *self.deleted}
        return [value for name, value in reader.__get__(self.value).items() if name not in changed]


def _probe(descriptor: MemberDescriptorType) -> Callable[[object], bool]:
    """A function that says whether a slot is set."""

    def is_set(instance: object) -> bool:
        try:
            descriptor.__get__(instance, type(instance))
        except AttributeError:
            return False
        return True

    return is_set
