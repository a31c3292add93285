"""Special methods of an object's class: how they are looked up, bound and called.

The rules are those of "Special method names" in the Python data model: they are looked up on the type, never on the
instance. The slots that ask them are functions in `object_slots`, `container_slots` and `operator_slots`. The tracker of an
object whose class may define special methods (an instance, an exception, a class through its metaclass) names them as its
slots, as CPython fills the slots of a type (slotdefs in Objects/typeobject.c).
"""

from types import FunctionType
from typing import Final, NoReturn

from framesmith.guards.class_lookup import is_heap_type, static_lookup, type_dict
from framesmith.variables.core.base import (
    Arguments,
    Keywords,
    PendingCall,
    TraceContext,
    Tracker,
    run_pending,
)
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.type_names import full_type_name, type_name
from framesmith.variables.objects.descriptors import NATIVE_METHODS, begin_get
from framesmith.variables.objects.lookup import Found, find

# For these None means that the operation is not supported; None under another name is called, which is a TypeError.
_ABSENT_IF_NONE: Final = ("__iter__", "__contains__", "__hash__")


def is_native(found: Found) -> bool:
    """Whether a special method is what a builtin base has under that
    name; `__lt__ = list.__gt__` in a class is a method of its own."""
    if found.stored is not None or not isinstance(found.value, NATIVE_METHODS):
        return False
    # A heap type of C code owns its descriptors.
    if not is_heap_type(found.owner) or getattr(found.value, "__objclass__", None) is found.owner:
        return True
    # A Python class that names a C method under another name than the base does has a method of its own.
    bases = found.order[found.order.index(found.owner) + 1 :]
    items = (type_dict(base)[found.name] for base in bases if found.name in type_dict(base))
    return next(items, None) is found.value


def is_of_object(found: Found) -> bool:
    """Whether it is the method of `object` of that name, inherited or named by the class."""
    return found.stored is None and type_dict(object).get(found.name) is found.value


def overrides_iteration(instance: Tracker) -> bool:
    """Whether a dict subclass has its own `__iter__`: C code then copies it through its methods (`dict_merge`)."""
    cls = instance.python_type
    return issubclass(cls, dict) and type(static_lookup(cls, "__iter__")) is FunctionType


def find_special_method(tx: TraceContext, receiver: Tracker, name: str) -> Found | None:
    """The class item of a special method; None when the class has none.

    Breaks the graph for one that is set to None, which CPython calls, and for a few is the same as none.
    """
    # On the type alone: the instance dictionary is never asked for special methods.
    found = find(tx, receiver.python_type, name)
    if found is not None and found.value is None and found.stored is None:
        return None if name in _ABSENT_IF_NONE else receiver.unsupported(f"its {name}, which is None")
    return found


def is_disabled(tx: TraceContext, receiver: Tracker, name: str) -> bool:
    """Whether the class sets a special method to None, which disables its fallback."""
    found = find(tx, receiver.python_type, name)
    return found is not None and found.value is None


def python_method(tx: TraceContext, receiver: Tracker, name: str) -> Found | None:
    """The class item of a special method that is a Python function, else None."""
    found = find_special_method(tx, receiver, name)
    plain = found is not None and found.stored is None and isinstance(found.value, FunctionType)
    return found if plain else None


def begin_method_call(
    tx: TraceContext, receiver: Tracker, found: Found, args: Arguments, kwargs: Keywords | None = None
) -> Tracker | PendingCall:
    """Call a special method; a Python function may be left to the symbolic interpreter."""
    return run_pending(tx, begin_get(tx, found, receiver)).begin_call(tx, args, kwargs or {})


def call_method(tx: TraceContext, receiver: Tracker, found: Found, *args: Tracker) -> Tracker:
    """Call a special method and run it to its end."""
    return run_pending(tx, begin_method_call(tx, receiver, found, args)).realize()


def require_builtin_part(receiver: Tracker, doing: str) -> Tracker:
    """The builtin part, on which an inherited C method works; breaks the graph without one."""
    return receiver.unsupported(doing) if receiver.builtin_part is None else receiver.builtin_part


def raise_type_error(tx: TraceContext, receiver: Tracker, message: str) -> Tracker:
    """Raise TypeError with CPython's message; `{}` is the name of the type."""
    return raise_observed(tx, TypeError, message.format(type_name(receiver)))


def raise_wrong_result(tx: TraceContext, text: str, receiver: Tracker, result: Tracker) -> NoReturn:
    """Raise TypeError for a special method that gave the wrong type; `text` is one of `find_wrong_result_text`."""
    for mark, value in (("receiver", receiver), ("result", result)):
        for place, write in ((f"{{full_{mark}}}", full_type_name), (f"{{{mark}}}", type_name)):
            text = text.replace(place, write(value)) if place in text else text
    raise_observed(tx, TypeError, text)
