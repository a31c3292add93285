"""The code that an entry runs after the graph for instances: it builds new ones and replays changes without user code.

The tracker is in `objects.instances`.
"""

import contextlib
import functools
from collections.abc import Callable
from types import BuiltinFunctionType, GetSetDescriptorType, SimpleNamespace
from typing import Final

from framesmith.guards.class_lookup import (
    MISSING,
    class_name,
    is_data_descriptor,
    is_heap_type,
    resolution_order,
    static_lookup,
    type_dict,
)
from framesmith.variables.core.base import FieldDescriptor, Tracker, Writer
from framesmith.variables.core.builtin_type import BUILTIN_TYPES, BuiltinPart
from framesmith.variables.core.registry import Registry
from framesmith.variables.objects.own_attributes import OwnAttributes


def find_solid_base(cls: type) -> tuple[type, Callable[..., object]]:
    """The builtin base that lays out instances of the class (what CPython calls its solid base), and its `__new__`."""
    for base in resolution_order(cls):
        # Heap types made by C code (through `PyType_FromSpec`) have a `__new__` that is a builtin function.
        if not is_heap_type(base) or isinstance(type_dict(base).get("__new__"), BuiltinFunctionType):
            return base, base.__new__
    raise AssertionError(f"{cls} has no builtin base")


_WITHOUT_PART: Final = (object, SimpleNamespace)
"""Bases whose instances hold attributes only."""


def find_builtin_part(registry: Registry, base: type) -> BuiltinPart | None:
    """How instances of subclasses hold the value of a builtin base; None where they hold none that is modelled."""
    row = registry[BUILTIN_TYPES].get(base)
    return None if row is None else row.part


def can_build(registry: Registry, cls: type) -> bool:
    """Whether an instance of the class can be created without user code."""
    base, _ = find_solid_base(cls)
    return base in _WITHOUT_PART or find_builtin_part(registry, base) is not None


def build_instance(instance: Tracker, own: OwnAttributes, writer: Writer) -> str:
    """Emit the creation of a new instance; it is defined before its members, which may refer to it."""
    kind, held = own.cls, instance.builtin_part
    base, new = find_solid_base(kind)
    maker = writer.constant(new, f"new_{base.__name__}")
    cls = writer.constant(kind, class_name(kind))
    part = find_builtin_part(writer.registry, base)
    # An immutable part has to be there when the object is made.
    if part is not None and part.fill is None:
        assert held is not None
        content = f"{writer.constant(base, base.__name__)}({held.reconstruct(writer)})"
        name = writer.define(instance, f"{maker}({cls}, {content})", class_name(kind).lower())
    elif part is not None or base in _WITHOUT_PART:
        name = writer.define(instance, f"{maker}({cls})", class_name(kind).lower())
    else:
        instance.unsupported("building it again after the graph")
    # A container is filled after it got its name, since its items may refer to the instance.
    if part is not None and part.fill is not None and held is not None:
        fill = writer.constant(part.fill, f"fill_{base.__name__}")
        writer.statement(f"{fill}({name}, {held.reconstruct(writer)})")
    write_attributes(own, name, writer)
    return name


def replay_instance(own: OwnAttributes, writer: Writer) -> None:
    """Emit the changes of an existing instance: deletions, slots and attributes."""
    assert own.source is not None
    place = writer.load(own.source)
    remove = functools.partial(writer.constant, object.__delattr__, "delete_attribute")
    for name in own.deleted:
        if _is_shadowed(own.cls, name):
            writer.statement(f"del {_dictionary(own.cls, place, writer)}[{name!r}]")
        else:
            writer.statement(f"{remove()}({place}, {name!r})")
    write_attributes(own, place, writer)


def clear_slot(slot: FieldDescriptor, instance: object) -> None:
    """Empty a slot; one that was stored and deleted within the trace is empty already."""
    with contextlib.suppress(AttributeError):
        slot.__delete__(instance)


def write_attributes(own: OwnAttributes, place: str, writer: Writer) -> None:
    """Emit the stores of slots and instance attributes, which call no `__setattr__` of the class."""
    store = functools.partial(writer.constant, object.__setattr__, "set_attribute")
    for descriptor, value in own.slots.items():
        if value is None:
            remove = writer.constant(clear_slot, "clear_slot")
            slot = writer.constant(descriptor, descriptor.__name__)
            writer.statement(f"{remove}({slot}, {place})")
        else:
            write = writer.constant(descriptor.__set__, f"set_{descriptor.__name__}")
            writer.statement(f"{write}({place}, {writer.value(value)})")
    # The program has read the dictionary of a new object and may hold it: it becomes that very dictionary.
    if own.namespace is not None and own.source is None:
        writer.statement(f"{store()}({place}, '__dict__', {writer.value(own.namespace)})")
        return
    for name, value in own.pending.items():
        expression = writer.value(value)
        if _is_shadowed(own.cls, name):
            writer.statement(f"{_dictionary(own.cls, place, writer)}[{name!r}] = {expression}")
        else:
            writer.statement(f"{store()}({place}, {name!r}, {expression})")


def _is_shadowed(cls: type, name: str) -> bool:
    """Whether `object.__setattr__` would call a descriptor of the class instead of storing into the instance."""
    # `functools.cached_property` and the tables of `nn.Module` store past `__setattr__`, so such names occur.
    item = static_lookup(cls, name)
    return item is not MISSING and is_data_descriptor(type(item))


def _dictionary(cls: type, place: str, writer: Writer) -> str:
    descriptor = static_lookup(cls, "__dict__")
    assert isinstance(descriptor, GetSetDescriptorType)
    return f"{writer.constant(descriptor.__get__, 'instance_dict')}({place})"
