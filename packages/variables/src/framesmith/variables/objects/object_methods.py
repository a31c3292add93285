"""The methods of `object` when called by name: `object.__setattr__(x, "a", 1)`, `super().__init__()` and so on.

What attribute access does is in `objects.lookup`.
"""

from collections.abc import Hashable
from typing import Final

from framesmith.guards.class_lookup import class_name, static_lookup
from framesmith.variables.callables.attribute_functions import attribute_name
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker, run_pending
from framesmith.variables.core.builtin_type import GENERIC_ACCESS, GenericAccess
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import RowFunction
from framesmith.variables.core.type_names import type_name
from framesmith.variables.objects.instances import InstanceTracker

ROWS: Final = Rows()

NONE = Constant(None)


def _instance(target: Tracker, doing: str) -> InstanceTracker:
    return target if isinstance(target, InstanceTracker) else target.unsupported(doing)


def object_getattribute(tx: TraceContext, self: Tracker, name: Tracker, /) -> Tracker | PendingCall:
    """`object.__getattribute__(self, name)`."""
    instance = _instance(self, "object.__getattribute__")
    return instance.begin_generic(tx, attribute_name(tx, name, "getattr"))


def object_setattr(tx: TraceContext, self: Tracker, name: Tracker, value: Tracker, /) -> Tracker:
    """`object.__setattr__(self, name, value)`."""
    _instance(self, "object.__setattr__").change_generic(tx, attribute_name(tx, name, "setattr"), value)
    return NONE


def object_delattr(tx: TraceContext, self: Tracker, name: Tracker, /) -> Tracker:
    """`object.__delattr__(self, name)`."""
    _instance(self, "object.__delattr__").change_generic(tx, attribute_name(tx, name, "delattr"), None)
    return NONE


_ACCESS: Final[dict[str, RowFunction]] = {
    "__getattribute__": object_getattribute,
    "__setattr__": object_setattr,
    "__delattr__": object_delattr,
}


@ROWS.for_each(GENERIC_ACCESS)
def generic_access(access: GenericAccess) -> Rows:
    """The row of `object.__setattr__`, `list.__setattr__` ..."""
    rows = Rows()
    assert isinstance(access.descriptor, Hashable)
    rows.call(access.descriptor)(_ACCESS[access.name])
    return rows


@ROWS.call(object.__init__)
def object_init(tx: TraceContext, self: Tracker, /, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`object.__init__(self)`, with CPython's check of surplus arguments (`object_init`)."""
    cls = self.python_type
    if args or kwargs:
        # The order of the two questions is that of `object_init`, and decides which message is raised.
        if static_lookup(cls, "__init__") is not object.__init__:
            message = "object.__init__() takes exactly one argument (the instance to initialize)"
            raise_observed(tx, TypeError, message)
        if static_lookup(cls, "__new__") is object.__new__:
            raise_observed(
                tx,
                TypeError,
                f"{class_name(cls)}.__init__() takes exactly one argument (the instance to initialize)",
            )
    return NONE


@ROWS.call(object.__eq__)
def object_eq(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
    """`object.__eq__`: identity, else NotImplemented."""
    return Constant(True if self.is_same(tx, other) else NotImplemented)


@ROWS.call(object.__ne__)
def object_ne(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
    """`object.__ne__`: the opposite of `__eq__`."""
    # By the type, so an override of `__eq__` answers `!=` as well (`object_richcompare`).
    result = self.special_attribute(tx, "__eq__").call(tx, (other,), {}).realize()
    if isinstance(result, Constant):
        return result if result.value is NotImplemented else Constant(not result.value)
    return result.unsupported("its negation")


@ROWS.call(*(vars(object)[name] for name in ("__lt__", "__le__", "__gt__", "__ge__")))
def object_order(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
    """`object.__lt__` and so on: NotImplemented."""
    return Constant(NotImplemented)


@ROWS.call(object.__str__)
def object_str(tx: TraceContext, self: Tracker, /) -> Tracker | PendingCall:
    """`object.__str__`: calls `__repr__`."""
    return run_pending(tx, self.special_attribute(tx, "__repr__").begin_call(tx, (), {}))


@ROWS.call(object.__format__)
def object_format(tx: TraceContext, self: Tracker, spec: Tracker, /) -> Tracker:
    """`object.__format__`: `str(self)`, without a format specification."""
    if spec.as_python_constant() != "":
        name = type_name(self)
        raise_observed(tx, TypeError, f"unsupported format string passed to {name}.__format__")
    return self.special_attribute(tx, "__str__").call(tx, (), {})


@ROWS.call(object.__init_subclass__)
def object_init_subclass(tx: TraceContext) -> Tracker:
    """`object.__init_subclass__()`: does nothing."""
    return NONE
