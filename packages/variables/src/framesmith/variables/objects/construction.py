"""Creating instances: `cls(...)` as in `type.__call__`, `object.__new__`, and the choice of the instance's tracker."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from framesmith.guards.class_lookup import (
    class_name,
    derives,
    flags_of,
    is_heap_type,
    resolution_order,
    static_lookup,
)
from framesmith.variables.core.base import (
    Arguments,
    Keywords,
    PendingCall,
    PendingFrame,
    TraceContext,
    Tracker,
    run_pending,
)
from framesmith.variables.core.cpython_messages import PlainSample, find_error, find_error_text
from framesmith.variables.core.overrides import defines_override
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.registry import Table
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.type_names import type_name
from framesmith.variables.objects.descriptors import begin_get
from framesmith.variables.objects.instance_writing import can_build, find_builtin_part, find_solid_base
from framesmith.variables.objects.instances import InstanceTracker
from framesmith.variables.objects.lookup import Found, class_source, find
from framesmith.variables.objects.special_methods import begin_method_call

ROWS: Final = Rows()

InstanceMaker = Callable[[TraceContext, type], InstanceTracker]
INSTANCE_MAKERS: Final = Table[type, InstanceMaker]("trackers of new instances")
"""Makes the trackers of new instances of a class and its subclasses."""
_ABSTRACT: Final = 1 << 20  # Py_TPFLAGS_IS_ABSTRACT
_NOT_INSTANTIATED: Final = 1 << 7  # Py_TPFLAGS_DISALLOW_INSTANTIATION


def new_instance(tx: TraceContext, cls: type) -> InstanceTracker:
    """A new instance without attributes. Breaks the graph for a
    class with `__del__`, or one that cannot be reconstructed."""
    _check_not_finalized(tx, cls)
    # The nearest base decides: exceptions, modules and properties have trackers of their own.
    makers = tx.registry[INSTANCE_MAKERS]
    for base in resolution_order(cls):
        if base in makers:
            return makers[base](tx, cls)
    if not can_build(tx.registry, cls) or not (is_heap_type(cls) or cls is object):
        tx.wrap(cls, class_source(cls)).unsupported("making an instance")
    if defines_override(cls):
        # From now on operands of torch's functions are looked at for `__torch_function__`.
        tx.changes.overrides.is_watched = True
    base, _ = find_solid_base(cls)
    part = find_builtin_part(tx.registry, base)
    return InstanceTracker(cls, builtin_part=None if part is None or part.empty is None else part.empty())


def _check_not_finalized(tx: TraceContext, cls: type) -> None:
    """Break the graph for a class with `__del__`, which runs where the last reference to the instance goes."""
    if find(tx, cls, "__del__") is not None:
        tx.wrap(cls, class_source(cls)).unsupported(
            "making an instance, whose __del__ runs where its last reference goes,"
        )


def begin_construct(
    tx: TraceContext, cls: Tracker, kind: type, args: Arguments, kwargs: Keywords
) -> Tracker | PendingCall:
    """`type.__call__(cls, *args, **kwargs)`: `__new__`, then `__init__` if the result is an instance of the class."""
    if flags_of(kind) & _ABSTRACT:
        cls.unsupported("making an instance of an abstract class")
    if flags_of(kind) & _NOT_INSTANTIATED:
        cls.unsupported("making an instance of a class that C code alone makes instances of")
    # `object` has one, so it is always found.
    maker = find(tx, kind, "__new__")
    assert maker is not None
    if maker.value is object.__new__:
        instance: Tracker = plain_new(tx, cls, kind, args, kwargs)
    else:
        # A `__new__` in Python is stored as a static method; one in C is a plain builtin.
        function = maker.tracker(tx) if maker.cls is not staticmethod else _unwrap_static(tx, maker)
        instance = run_pending(tx, function.begin_call(tx, (cls, *args), kwargs)).realize()
    # `type_call`: no `__init__` if `__new__` gave something else; `__subclasscheck__` is not asked.
    if not derives(instance.python_type, kind):
        return instance
    return begin_init(tx, instance, args, kwargs)


def _unwrap_static(tx: TraceContext, found: Found) -> Tracker:
    return run_pending(tx, begin_get(tx, found, found.tracker(tx)))


def begin_init(
    tx: TraceContext, instance: Tracker, args: Arguments, kwargs: Keywords
) -> Tracker | PendingCall:
    """Call `__init__`; the caller receives the instance."""
    initializer = find(tx, instance.python_type, "__init__")
    assert initializer is not None
    if isinstance(instance, InstanceTracker):
        own = instance.begin_own_init(tx, initializer, args, kwargs)
        if own is not None:
            return own
    # It does nothing. Surplus arguments were refused in `plain_new`; with a `__new__` of its own CPython allows them.
    if initializer.value is object.__init__:
        return instance
    if not isinstance(instance, InstanceTracker):
        # A value of a builtin type: its row of `__new__` has used the arguments.
        if not is_heap_type(initializer.owner):
            return instance
        return instance.unsupported("a user-written __init__")
    result = begin_method_call(tx, instance, initializer, args, kwargs)
    # The frame of `__init__` goes to the interpreter, so that a graph break in it gets a continuation.
    if isinstance(result, PendingFrame) and result.replacement is None:
        return replace(result, replacement=instance)
    outcome = run_pending(tx, result).realize()
    if outcome.python_type is not type(None):
        raise_observed(tx, TypeError, f"__init__() should return None, not '{type_name(outcome)}'")
    return instance


def plain_new(
    tx: TraceContext, cls: Tracker, kind: type, args: Arguments, kwargs: Keywords
) -> InstanceTracker:
    """`object.__new__(cls, *args, **kwargs)`; TypeError for surplus arguments as in CPython's `object_new`."""
    if args or kwargs:
        if static_lookup(kind, "__new__") is not object.__new__:
            raise_observed(
                tx, TypeError, "object.__new__() takes exactly one argument (the type to instantiate)"
            )
        if static_lookup(kind, "__init__") is object.__init__:
            raise_observed(tx, TypeError, f"{class_name(kind)}() takes no arguments")
    return new_instance(tx, kind)


def check_class(tx: TraceContext, cls: Tracker, base: type) -> type:
    """The class that is the first argument of `base.__new__`; TypeError for anything else but a subclass.

    Breaks the graph for a class with `__del__`."""
    if not issubclass(cls.python_type, type):
        text = find_error_text(base.__new__, PlainSample()).format(type_name(cls))
        raise_observed(tx, TypeError, text)
    kind = cls.as_python_constant()
    assert isinstance(kind, type)
    if base not in resolution_order(kind):
        raise_observed(tx, TypeError, str(find_error(base.__new__, kind)))
    if is_heap_type(kind):
        # Also for immutable values, which do not go through `new_instance`.
        _check_not_finalized(tx, kind)
    return kind


@ROWS.call(object.__new__)
def object_new(tx: TraceContext, cls: Tracker, /, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`object.__new__(cls)`."""
    kind = check_class(tx, cls, object)
    # The instance would have C data that `object.__new__` does not set up (CPython: `tp_new_wrapper`).
    base, _ = find_solid_base(kind)
    if base is not object:
        raise_observed(
            tx,
            TypeError,
            f"object.__new__({class_name(kind)}) is not safe, use {base.__name__}.__new__()",
        )
    return plain_new(tx, cls, kind, args, kwargs)
