"""`isinstance`, `issubclass`, `type`, `callable`: functions that read the type of a value.

`super` is in `objects.super_objects`.
"""

import sys
import typing
from abc import ABCMeta
from collections.abc import Iterable
from types import FunctionType, MethodDescriptorType, MethodType, UnionType
from typing import Final, Protocol, Union, get_args, get_origin

import torch

from framesmith.guards.class_lookup import (
    MISSING,
    class_name,
    defines,
    derives,
    qualified_name,
    static_lookup,
)
from framesmith.guards.kinds import EqualTo
from framesmith.guards.sources import CallResult, Pinned
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.callables.methods import BoundMethod
from framesmith.variables.core.base import TraceContext, Tracker, run_pending
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import find_error_text
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.structure import guard_class_attribute
from framesmith.variables.core.table import row_of
from framesmith.variables.operations.truth import known_truth

ROWS: Final = Rows()

_NO_INSTANCE: Final = find_error_text(MethodType, max, None)
_NO_FUNCTION: Final = find_error_text(MethodType, None, 0)
_BARE_ALIAS: Final = type(vars(typing)["Mapping"])  # `typing.Mapping` without parameters


def class_tracker(tx: TraceContext, cls: type) -> Tracker:
    """The tracker of a class as a constant of the entry."""
    return tx.wrap(cls, Pinned(cls, qualified_name(cls)))


@ROWS.call(type)
def type_(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`type(value)`; with three arguments, which creates a class, it breaks the graph."""
    if len(args) != 1 or kwargs:
        return class_tracker(tx, type).unsupported("making a class")
    return class_tracker(tx, args[0].python_type)


@ROWS.call(callable)
def callable_(tx: TraceContext, value: Tracker, /) -> Tracker:
    """`callable(value)`: whether the type has `__call__`, which is guarded for a Python class."""
    cls = value.python_type
    guard_class_attribute(tx, cls, "__call__")
    return Constant(defines(cls, "__call__"))


def classes_of(tx: TraceContext, classinfo: Tracker, function: str) -> list[Tracker]:
    """The classes in the second argument: a class, a union, or
    a tuple of such, nested. Anything else breaks the graph."""
    classinfo = classinfo.realize()
    if issubclass(classinfo.python_type, tuple):
        # all are looked at; one that is no class breaks the graph, and CPython decides whether it gets there
        return [entry for item in unpack(tx, classinfo) for entry in classes_of(tx, item, function)]
    if issubclass(classinfo.python_type, type):
        return [classinfo]
    value = classinfo.as_python_constant() if classinfo.is_python_constant() else None
    origin = get_origin(value)
    if type(value) is _BARE_ALIAS and isinstance(origin, type):
        return [class_tracker(tx, origin)]
    if isinstance(value, UnionType) or get_origin(value) is Union:
        # `int | None` holds None itself
        members = [type(None) if member is None else member for member in get_args(value)]
        if all(isinstance(member, type) for member in members):
            return [class_tracker(tx, member) for member in members]
    return classinfo.unsupported(f"use as the second argument of {function}()")


_PROTOCOL_CHECK: Final = static_lookup(type(Protocol), "__instancecheck__")


@ROWS.call(isinstance)
def isinstance_(tx: TraceContext, value: Tracker, classinfo: Tracker, /) -> Tracker:
    """`isinstance(value, classinfo)`."""
    # as in CPython, an exact match does not call `__instancecheck__`
    exact = classinfo.realize()
    if issubclass(exact.python_type, type) and exact.as_python_constant() is value.python_type:
        return Constant(True)
    return Constant(any(_is_instance(tx, value, entry) for entry in classes_of(tx, classinfo, "isinstance")))


def _is_instance(tx: TraceContext, value: Tracker, cls: Tracker) -> bool:
    expected = cls.as_python_constant()
    assert isinstance(expected, type)
    kind = value.python_type
    if kind is expected:
        return True
    known = value.is_instance_of(expected)
    if known is not None:
        return known
    hook = static_lookup(type(expected), "__instancecheck__")
    if hook is type.__instancecheck__:
        return _is_derived(value, expected)
    if hook is ABCMeta.__instancecheck__:
        return _abstract_check(tx, value, expected, kind)
    if hook is _PROTOCOL_CHECK and (answer := _protocol_check(tx, value, expected)) is not None:
        return answer
    return _inline_hook(tx, cls, "__instancecheck__", hook, value)


@ROWS.call(type.__instancecheck__)
def plain_instance_check(tx: TraceContext, cls: Tracker, value: Tracker, /) -> Tracker:
    """`type.__instancecheck__(cls, value)`, which the method of a metaclass calls through `super()`."""
    expected = cls.realize().as_python_constant()
    if not isinstance(expected, type):
        return cls.unsupported("use as the first argument of type.__instancecheck__()")
    return Constant(_is_derived(value.realize(), expected))


def _is_derived(value: Tracker, expected: type) -> bool:
    if issubclass_of(value.python_type, expected):
        return True
    # CPython reads `__class__` if the type is no subclass
    _check_class_attribute(value)
    return False


def _check_class_attribute(value: Tracker) -> None:
    """Break the graph where `value.__class__`, which isinstance() reads too, may be another class than its type."""
    cls = value.python_type
    if static_lookup(cls, "__class__") is not object.__dict__["__class__"] or isinstance(
        static_lookup(cls, "__getattribute__"), FunctionType
    ):
        value.unsupported("isinstance() with a __class__ of its own")


def issubclass_of(cls: type, expected: type) -> bool:
    """Real inheritance, as `type.__subclasscheck__` sees it; hooks of the metaclass are not called."""
    return bool(type.__subclasscheck__(expected, cls))


def _abstract_check(tx: TraceContext, value: Tracker, expected: type, cls: type) -> bool:
    """`isinstance` or `issubclass` with an abstract base class, by the type alone. Breaks the graph where a
    `__subclasshook__` outside the standard library, or an overridden check, would run."""
    own = static_lookup(type(expected), "__subclasscheck__")
    # ABCMeta asks the class's own check, which a metaclass may override
    if own is not ABCMeta.__subclasscheck__:
        value.unsupported("isinstance() with a __subclasscheck__ of its own")
    _check_hook(value, expected)
    _check_class_attribute(value)
    # runs the hook while tracing
    try:
        answer = issubclass(cls, expected)
    except TypeError:  # a protocol that is not for use at run time, or that has members which are no methods
        value.unsupported("a class check that raises")
    # real inheritance is guarded with the structure of the class
    if not derives(cls, expected):
        _guard_answer(tx, cls, expected, answer)
    return answer


def _check_hook(value: Tracker, expected: type) -> None:
    """Break the graph where a `__subclasshook__` outside the standard library would run."""
    function = getattr(static_lookup(expected, "__subclasshook__"), "__func__", None)
    if isinstance(function, FunctionType):
        module = (function.__module__ or "").partition(".")[0]
        if module not in sys.stdlib_module_names and module != "_collections_abc":
            value.unsupported("isinstance() with a user-written __subclasshook__")


def _protocol_check(tx: TraceContext, value: Tracker, expected: type) -> bool | None:
    """`isinstance` with a protocol that has methods alone, or a class that derives from one. None: its own check decides.

    The class decides that it fits, and does not where the instance lacks a member as well (the metaclass of protocols in Lib/typing.py).
    """
    cls = value.python_type
    _check_hook(value, expected)
    _check_class_attribute(value)
    try:
        answer = issubclass(cls, expected)
    except TypeError:  # it has members that are no methods, or is not for use at run time
        return None
    if not derives(cls, expected):
        _guard_answer(tx, cls, expected, answer)
    if answer or not _is_protocol(expected):
        return answer
    computed = static_lookup(cls, "__getattr__")
    # code of the user, which not every Python runs for this
    if computed not in (MISSING, torch.nn.Module.__getattr__) or isinstance(
        static_lookup(cls, "__getattribute__"), FunctionType
    ):
        return None
    lacking = (name for name in _members_of(expected) if static_lookup(cls, name) is MISSING)
    asked = row_of(tx.registry, hasattr)
    assert asked is not None
    for name in lacking:
        found = run_pending(tx, asked.begin(tx, (value, Constant(name)), {})).realize()
        if isinstance(found, Constant) and found.value is False:
            return False
    return None


def _is_protocol(cls: type) -> bool:
    """Whether it is a protocol itself, and does not only derive from one."""
    return bool(getattr(cls, "_is_protocol", False))


def _members_of(cls: type) -> Iterable[str]:
    """The names of the members of a protocol."""
    found: Iterable[str] | None = getattr(cls, "__protocol_attrs__", None)
    # up to 3.11 they are not stored
    return vars(typing)["_get_protocol_attrs"](cls) if found is None else found


def _guard_answer(tx: TraceContext, cls: type, expected: type, answer: bool) -> None:
    """Guard the answer of an abstract class, which registration or new methods can change; once per pair and trace."""
    known = tx.changes.asked_classes
    # a Pinned pair is another object each time, so the guard set would not find the first one
    if (cls, expected) not in known:
        known.add((cls, expected))
        pair = Pinned((cls, expected), f"({class_name(cls)}, {class_name(expected)})")
        tx.guard(CallResult(pair, is_subclass), EqualTo(answer))


def is_subclass(pair: object) -> bool:
    """`issubclass(*pair)`."""
    assert isinstance(pair, tuple)
    return issubclass(*pair)


def _inline_hook(tx: TraceContext, cls: Tracker, name: str, hook: object, operand: Tracker) -> bool:
    """Inline the metaclass's `__instancecheck__` or `__subclasscheck__`;
    breaks for one in C or without a known truth."""
    if isinstance(hook, MethodDescriptorType) and (row := row_of(tx.registry, hook)) is not None:
        return known_truth(tx, run_pending(tx, row.begin(tx, (cls, operand), {})))
    if not isinstance(hook, FunctionType):
        return bool(cls.unsupported(f"a {name} written in C"))
    return known_truth(tx, cls.special_attribute(tx, name).call(tx, (operand,), {}))


@ROWS.call(issubclass)
def issubclass_(tx: TraceContext, value: Tracker, classinfo: Tracker, /) -> Tracker:
    """`issubclass(value, classinfo)`."""
    if not issubclass(value.python_type, type):
        # a tuple or a metaclass may decide first, and an object with `__bases__` counts as a class
        if classinfo.realize().python_type is not type or _may_have_bases(value.python_type):
            return value.unsupported("use as the first argument of issubclass()")
        raise_observed(tx, TypeError, "issubclass() arg 1 must be a class")
    kind = value.as_python_constant()
    assert isinstance(kind, type)
    return Constant(
        any(_is_subclass(tx, value, kind, cls) for cls in classes_of(tx, classinfo, "issubclass"))
    )


def _may_have_bases(cls: type) -> bool:
    """Whether an object of this type may have `__bases__`, which makes it a class for issubclass()."""
    names = ("__bases__", "__getattr__")
    return any(defines(cls, name) for name in names) or isinstance(
        static_lookup(cls, "__getattribute__"), FunctionType
    )


def _is_subclass(tx: TraceContext, value: Tracker, kind: type, cls: Tracker) -> bool:
    expected = cls.as_python_constant()
    assert isinstance(expected, type)
    hook = static_lookup(type(expected), "__subclasscheck__")
    if hook is type.__subclasscheck__:
        return issubclass_of(kind, expected)
    if hook is ABCMeta.__subclasscheck__:
        return _abstract_check(tx, value, expected, kind)
    return _inline_hook(tx, cls, "__subclasscheck__", hook, value)


@ROWS.call(MethodType)
def method_type(tx: TraceContext, function: Tracker, receiver: Tracker, /) -> Tracker:
    """`types.MethodType(function, receiver)`."""
    if isinstance(receiver, Constant) and receiver.value is None:
        raise_observed(tx, TypeError, _NO_INSTANCE)
    if not defines(function.realize().python_type, "__call__"):
        raise_observed(tx, TypeError, _NO_FUNCTION)
    return BoundMethod(function, receiver)
