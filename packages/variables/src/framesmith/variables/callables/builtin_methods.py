"""Wrapping of callables written in C, and of all that have a row. The trackers are in `core.builtin_methods`."""

from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Final

from framesmith.guards import Source
from framesmith.guards.class_lookup import module_of, static_lookup
from framesmith.guards.kinds import EqualTo, Identical, TypeIs
from framesmith.guards.sources import Attribute
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.builtin_methods import (
    BoundBuiltin,
    Builtin,
    begin_builtin,
    builtin_attribute,
)
from framesmith.variables.core.registry import Registry
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import row_of

ROWS: Final = Rows()

__all__ = [
    "BoundBuiltin",
    "Builtin",
    "begin_builtin",
    "builtin_attribute",
]

_METHODS = MethodDescriptorType | WrapperDescriptorType
_CALLABLES = BuiltinFunctionType | ClassMethodDescriptorType | _METHODS


def _may_have_row(registry: Registry, cls: type) -> bool:
    """Whether objects of this type may have rows themselves. The look-up must not run user
    code, so types with a Python `__hash__` outside torch are skipped."""
    # classes have a rule of their own
    if issubclass(cls, type):
        return False
    hashing = static_lookup(cls, "__hash__")
    module = str(module_of(cls))
    return type(hashing) is WrapperDescriptorType or (hashing is not None and module.startswith("torch."))


def _has_row(registry: Registry, value: object) -> bool:
    return callable(value) and row_of(registry, value) is not None


@ROWS.wrap_when(10, _may_have_row, _has_row)
def wrap_row(tx: TraceContext, value: object, source: Source) -> Tracker:
    """A callable with a row, guarded by identity."""
    # each access makes another object, so identity would fail in the next call
    if _is_bound(value):
        return wrap_bound(tx, value, source)
    tx.guard(source, Identical(value))
    return Builtin(value, source)


def _is_bound(value: object) -> bool:
    """Whether this is a C method bound to an instance, of which each attribute access makes a new object."""
    if isinstance(value, MethodWrapperType):
        return True
    # `__self__` is the module of a function, or the class of a class method
    if not isinstance(value, BuiltinFunctionType) or isinstance(value.__self__, ModuleType | type | None):
        return False
    # what pybind11 keeps a function's record in
    return type(value.__self__).__module__ != "pybind11_builtins"


@ROWS.wrap_when(30, lambda _, cls: issubclass(cls, _CALLABLES | MethodWrapperType))
def wrap_builtin(tx: TraceContext, value: object, source: Source) -> Tracker:
    """A C function or descriptor, guarded by identity; a bound C method, by its receiver and name."""
    if _is_bound(value):
        return wrap_bound(tx, value, source)
    if not (isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, type)):
        tx.guard(source, Identical(value))
    else:  # `dict.fromkeys` is a new object each time it is read
        tx.guard(source, TypeIs(type(value)))
        tx.guard(Attribute(source, "__name__"), EqualTo(value.__name__))
        tx.guard(Attribute(source, "__self__"), Identical(value.__self__))
    return Builtin(value, source)


def wrap_bound(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing bound C method: guarded by type and name, its receiver is
    wrapped. Breaks where no class of the receiver has the descriptor."""
    assert isinstance(value, BuiltinFunctionType | MethodWrapperType)
    receiver, name = value.__self__, value.__name__
    tx.guard(source, TypeIs(type(value)))
    tx.guard(Attribute(source, "__name__"), EqualTo(name))
    descriptor = static_lookup(type(receiver), name)
    tracker = tx.wrap(receiver, Attribute(source, "__self__"))
    # the class may have replaced the method since it was bound
    if not isinstance(descriptor, _METHODS):
        return tracker.unsupported(f"its method {name!r}")
    return BoundBuiltin(tracker, descriptor, source)
