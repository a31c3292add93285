"""How an item of a class dictionary becomes an attribute: functions, properties, class methods, slots, C descriptors.

The rule is the "Descriptor guide" of the Python documentation. The look-up is in `lookup`, what an
instance itself holds in `instances`.
"""

import functools
from collections import namedtuple
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Final, NoReturn, cast, final

from framesmith.graph import GraphBreak
from framesmith.guards.class_lookup import (
    class_name,
    is_descriptor,
    qualified_name,
    resolution_order,
    static_lookup,
)
from framesmith.guards.sources import Attribute
from framesmith.variables.callables.methods import BoundMethod
from framesmith.variables.core.base import (
    Arguments,
    FieldDescriptor,
    Keywords,
    PendingCall,
    SkippedFrame,
    TraceContext,
    Tracker,
    run_pending,
)
from framesmith.variables.core.builtin_methods import BINDER, BoundBuiltin, Builtin, begin_builtin
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.native_kinds import kind_of_compiled
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.skipped_frames import skip_frames
from framesmith.variables.objects.lookup import Found, class_source, find

ROWS: Final = Rows()

NATIVE_METHODS: Final = (
    MethodDescriptorType,
    WrapperDescriptorType,
    ClassMethodDescriptorType,
    BuiltinFunctionType,
)


@final
class InplaceMethod(Tracker):
    """A bound in-place method of a builtin base, as in `super().__iadd__(x)`:
    where it returns the builtin part, the result is the receiver."""

    def __init__(self, descriptor: object, receiver: Tracker) -> None:
        self.descriptor = descriptor
        self.receiver = receiver

    @property
    def python_type(self) -> type:
        """`method-wrapper`."""
        return MethodWrapperType

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """The result of the row of the descriptor; the receiver where that is its builtin part."""
        result = run_pending(tx, begin_builtin(tx, self.descriptor, [self.receiver, *args], kwargs))
        return self.receiver if result is self.receiver.builtin_part_or_self(tx) else result


Getter = Callable[[TraceContext, Found, Tracker], "Tracker | PendingCall"]


def _get_function(tx: TraceContext, found: Found, receiver: Tracker) -> Tracker:
    return BoundMethod(found.tracker(tx), receiver)


def read_member(tx: TraceContext, found: Found, name: str) -> Tracker:
    """A member of the descriptor found on a class: `fget` of a property, `__func__` of a class method ..."""
    if found.stored is not None:
        return found.stored.attribute(tx, name).realize()
    return tx.wrap(getattr(found.value, name), Attribute(found.source, name))


def _get_property(tx: TraceContext, found: Found, receiver: Tracker) -> Tracker | PendingCall:
    if found.stored is None and getattr(found.value, "fget") is None:  # noqa: B009  # unknown to typing
        _raise_without_accessor(tx, found, receiver, "getter")
    return read_member(tx, found, "fget").begin_call(tx, (receiver,), {})


class _PropertyProbe:
    """What a property is read from to see its error."""


def _raise_without_accessor(tx: TraceContext, found: Found, receiver: Tracker, what: str) -> NoReturn:
    """Raise the AttributeError of a property that has no getter, setter or deleter.

    CPython names the property as the body of its class did (`__set_name__`), which may be otherwise or not at all.
    """

    def message(kind: str) -> str:
        return f"property {found.name!r} of {kind!r} object has no {what}"

    if found.stored is not None or _ask_message(found.value, what) != message(_PropertyProbe.__name__):
        receiver.unsupported(f"attribute {found.name!r}, a property that has another name or none,")
    raise_observed(tx, AttributeError, message(qualified_name(receiver.python_type)))


def _ask_message(value: object, what: str) -> str | None:
    """The message of the error that the property raises for a `_PropertyProbe`; None where asking could run code of the user."""
    found = cast(property, value)
    accessors = [getattr(found, name) for name in ("fget", "fset", "fdel")]
    if any(type(one) not in (FunctionType, type(None)) for one in accessors):
        return None
    try:
        if what == "getter":
            property.__get__(found, _PropertyProbe())
        elif what == "setter":
            property.__set__(found, _PropertyProbe(), None)
        else:
            property.__delete__(found, _PropertyProbe())
    except AttributeError as error:
        return str(error)
    raise AssertionError(f"a property has a {what} that was looked up and not found")


def _get_static(tx: TraceContext, found: Found, receiver: Tracker) -> Tracker:
    return read_member(tx, found, "__func__")


def bind_class_method(tx: TraceContext, found: Found, cls: Tracker) -> Tracker:
    """The function of a class method, bound to the class."""
    function = read_member(tx, found, "__func__")
    # Up to 3.12 `classmethod.__get__` calls the `__get__` of what it wraps (a property, say); 3.13 does not.
    if function.python_type is not FunctionType and is_descriptor(function.python_type):
        cls.unsupported(f"a class method around a {class_name(function.python_type)}")
    return BoundMethod(function, cls)


def _get_class_method(tx: TraceContext, found: Found, receiver: Tracker) -> Tracker:
    cls = receiver.python_type
    return bind_class_method(tx, found, tx.wrap(cls, class_source(cls)))


def _get_native(tx: TraceContext, found: Found, receiver: Tracker) -> Tracker:
    assert isinstance(found.value, MethodDescriptorType | WrapperDescriptorType)
    # Some trackers bind in their own way, such as in-place methods of a builtin base.
    bound = receiver.bind_native(tx, found.value)
    return BoundBuiltin(receiver, found.value) if bound is None else bound


def _get_native_class_method(tx: TraceContext, found: Found, receiver: Tracker) -> Tracker:
    return Builtin(getattr(receiver.python_type, found.name))


def _get_field(tx: TraceContext, found: Found, receiver: Tracker) -> Tracker:
    assert isinstance(found.value, FieldDescriptor)
    return receiver.read_field(tx, found.value)


_CACHED: Final = SkippedFrame(functools.cached_property.__get__, "func")


def _get_cached(tx: TraceContext, found: Found, receiver: Tracker) -> Tracker:
    """`functools.cached_property` when the instance has no value yet: calls the function and stores the result."""
    value = run_pending(
        tx, skip_frames(read_member(tx, found, "func").begin_call(tx, (receiver,), {}), _CACHED)
    )
    receiver.store_own(tx, str(read_member(tx, found, "attrname").as_python_constant()), value)
    return value


def _get_tuple_field(tx: TraceContext, found: Found, receiver: Tracker) -> Tracker:
    """A field of a named tuple class whose instances have a `__dict__`; C code reads it without `__getitem__`."""
    assert found.value is not None
    # The field's index is in no attribute; `_tuplegetter` gives it for pickling.
    arguments = found.value.__reduce__()[1]
    assert isinstance(arguments, tuple)
    return receiver.builtin_part_or_self(tx).subscript(tx, Constant(arguments[0]))


# `collections._tuplegetter` has no public name.
_TupleField: Final[type] = type(vars(namedtuple("_TupleField", "field"))["field"])
_GETTERS: Final[dict[type, Getter]] = {
    FunctionType: _get_function,
    # Its `__get__` in C binds as that of a function does.
    functools._lru_cache_wrapper: _get_function,
    property: _get_property,
    staticmethod: _get_static,
    classmethod: _get_class_method,
    MethodDescriptorType: _get_native,
    WrapperDescriptorType: _get_native,
    ClassMethodDescriptorType: _get_native_class_method,
    MemberDescriptorType: _get_field,
    GetSetDescriptorType: _get_field,
    functools.cached_property: _get_cached,
    _TupleField: _get_tuple_field,
}


def getter_of(cls: type) -> Getter | None:
    """The binding rule of a descriptor type: its own, or that of a base whose `__get__` it inherits; else None."""
    # A class derived from `property` with a `__get__` of its own is not to be taken for a property.
    for base in resolution_order(cls):
        if base in _GETTERS and static_lookup(cls, "__get__") is static_lookup(base, "__get__"):
            return _GETTERS[base]
    return None


def begin_get(tx: TraceContext, found: Found, receiver: Tracker) -> Tracker | PendingCall:
    """The attribute of `receiver` that the class item `found` gives: `item.__get__(receiver, type(receiver))`."""
    getter = getter_of(found.cls)
    if getter is not None:
        return getter(tx, found, receiver)
    hook = find(tx, found.cls, "__get__")
    if hook is None:
        return found.tracker(tx)
    if hook.cls is not FunctionType:
        kind = kind_of_compiled(found.value)  # a generator of random numbers
        if kind is not None:
            raise GraphBreak(kind, f"{receiver.describe()}.{found.name}")
        receiver.unsupported(f"reading attribute {found.name!r}, a {class_name(found.cls)} of its class,")
    owner = tx.wrap(receiver.python_type, class_source(receiver.python_type))
    return hook.tracker(tx).begin_call(tx, (found.tracker(tx), receiver, owner), {})


def set_through(tx: TraceContext, found: Found, receiver: Tracker, value: Tracker | None) -> None:
    """Set (None: delete) an attribute through a data descriptor of the class."""
    if isinstance(found.value, FieldDescriptor):
        receiver.store_field(tx, found.value, value)
        return
    name = "__delete__" if value is None else "__set__"
    operands = (receiver,) if value is None else (receiver, value)
    if static_lookup(found.cls, name) is property.__dict__[name]:
        role = "fdel" if value is None else "fset"
        function = read_member(tx, found, role)
        if isinstance(function, Constant):
            _raise_without_accessor(tx, found, receiver, "deleter" if value is None else "setter")
        function.call(tx, operands, {})
        return
    hook = find(tx, found.cls, name)
    # The other one of `__set__` and `__delete__` alone is there; CPython (`slot_tp_descr_set`) raises the bare name.
    if hook is None:
        raise_observed(tx, AttributeError, name)
    if hook.cls is not FunctionType:
        receiver.unsupported(f"storing attribute {found.name!r}, a {class_name(found.cls)} of its class,")
    hook.tracker(tx).call(tx, (found.tracker(tx), *operands), {})


@ROWS.entry(BINDER, None)
def bind_class_attribute(tx: TraceContext, receiver: Tracker, descriptor: object, name: str) -> Tracker:
    """An attribute of a builtin value (a named tuple, an enum member) that its Python class defines, bound to it."""
    found = find(tx, receiver.python_type, name)
    if found is None or found.value is not descriptor:
        receiver.unsupported(f"reading attribute {name!r}")
    return run_pending(tx, begin_get(tx, found, receiver))
