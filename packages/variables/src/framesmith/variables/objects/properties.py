"""New instances of classes that derive from `property`. Existing ones are objects as any other."""

from collections.abc import Iterator
from types import FunctionType
from typing import Final, final

from framesmith.guards.class_lookup import class_name, overrides
from framesmith.variables.core.base import FieldDescriptor, TraceContext, Tracker, Writer
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.rows import Rows
from framesmith.variables.objects.construction import INSTANCE_MAKERS, check_class, new_instance
from framesmith.variables.objects.instance_writing import write_attributes
from framesmith.variables.objects.instances import InstanceTracker
from framesmith.variables.objects.own_attributes import has_dict

ROWS: Final = Rows()

_NONE: Final = Constant(None)
_ACCESSORS: Final = ("fget", "fset", "fdel")


@final
class PropertyTracker(InstanceTracker):
    """A property that the trace makes. `accessors`: the functions for reading, storing and deleting that were given."""

    tells_changes = False

    def __init__(self, cls: type) -> None:
        super().__init__(cls)
        self.accessors: dict[str, Tracker] = {}

    def read_field(self, tx: TraceContext, descriptor: FieldDescriptor) -> Tracker:
        """One of the accessors, or a field that the class defines."""
        if descriptor.__objclass__ is property and descriptor.__name__ in _ACCESSORS:
            return self.accessors.get(descriptor.__name__, _NONE)
        return super().read_field(tx, descriptor)

    def children(self) -> Iterator[Tracker]:
        """The accessors and attributes."""
        yield from self.accessors.values()
        yield from super().children()

    def reconstruct(self, writer: Writer) -> str:
        """A new property: its `__new__`, then its `__init__`, then the attributes that were stored."""
        make = writer.constant(property.__new__, "new_property")
        start = writer.constant(property.__init__, "init_property")
        name = writer.define(self, f"{make}({writer.constant(self.cls, class_name(self.cls))})", "property_")
        if self.accessors:
            values = ", ".join(writer.value(self.accessors.get(accessor, _NONE)) for accessor in _ACCESSORS)
            writer.statement(f"{start}({name}, {values})")
        write_attributes(self.own, name, writer)
        return name


@ROWS.entry(INSTANCE_MAKERS, property)
def make_property(tx: TraceContext, cls: type) -> InstanceTracker:
    """A new property without accessors."""
    return PropertyTracker(cls)


@ROWS.call(property.__new__)
def property_new(tx: TraceContext, cls: Tracker, /, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`property.__new__(cls, ...)`; `__init__` uses the arguments."""
    kind = check_class(tx, cls, property)
    if kind is property or overrides(kind, object, "__setattr__") or not has_dict(kind):
        # the first is no instance of a Python class; the others see `__doc__` being stored, or have no place for it
        return cls.unsupported("making an instance")
    return new_instance(tx, kind)


@ROWS.call(property.__init__)
def property_init(
    tx: TraceContext,
    self: Tracker,
    fget: Tracker = _NONE,
    fset: Tracker = _NONE,
    fdel: Tracker = _NONE,
    doc: Tracker = _NONE,
) -> Tracker:
    """`property.__init__(self, fget, fset, fdel, doc)`, which stores the getter's documentation in an instance of a subclass."""
    # A second `__init__` would have to undo the first.
    if not isinstance(self, PropertyTracker) or self.accessors:
        return self.unsupported("property.__init__")
    given = dict(zip(_ACCESSORS, (fget, fset, fdel), strict=True))
    if doc.realize().python_type is not type(None) or fget.realize().python_type is not FunctionType:
        return self.unsupported("property.__init__ without a getter, or with a text")
    text = fget.attribute(tx, "__doc__").realize()
    tx.changes.note(self)
    self.accessors = {name: value.realize() for name, value in given.items()}
    # For a subclass `property_init_impl` sets the attribute `__doc__` of the instance.
    self.set_attribute(tx, "__doc__", text)
    return _NONE
