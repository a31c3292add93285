"""How CPython reads a class: its resolution order, the item of a class dictionary that static look-up finds, what kind of descriptor it is.

The one place that walks a resolution order. Everything is read through the C-level descriptors of `type`, so no function
here runs user code: a metaclass may define `__mro__`, `__dict__`, `__flags__` or `__getattribute__` itself. Nothing is
guarded here; whoever uses an answer guards it. Rules: `Objects/typeobject.c` and the "Descriptor guide" of the documentation.
"""

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Final, final
from weakref import ref


@final
class Missing:
    """The type of `MISSING`, the answer when no class of the resolution order has an item."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = Missing()
_IMMUTABLE: Final = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE (object.h)
_HEAP: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE

#: The names below raise TypeError for anything that is no class.
type_dict: Callable[[object], Mapping[str, object]] = type.__dict__["__dict__"].__get__
#: The globals of a module, also where a subclass of the module type overrides attribute access.
module_dict: Callable[[ModuleType], dict[str, object]] = vars(ModuleType)["__dict__"].__get__
resolution_order: Callable[[object], tuple[type, ...]] = type.__dict__["__mro__"].__get__
class_name: Callable[[object], str] = type.__dict__["__name__"].__get__
qualified_name: Callable[[object], str] = type.__dict__["__qualname__"].__get__
_module_field: Callable[[object], object] = type.__dict__["__module__"].__get__
#: `cls.mro()`, which computes the resolution order anew.
compute_order: Callable[[type], list[type]] = type.__dict__["mro"]
flags_of: Callable[[object], int] = type.__dict__["__flags__"].__get__
#: Where an instance holds its dictionary; 0 if it has none.
dict_offset: Callable[[object], int] = type.__dict__["__dictoffset__"].__get__
#: Where an instance holds its weak references; 0 if it takes none.
weak_offset: Callable[[object], int] = type.__dict__["__weakrefoffset__"].__get__
basic_size: Callable[[object], int] = type.__dict__["__basicsize__"].__get__


def module_of(cls: object) -> object:
    """The name of the module of a class; anything else if the class says so, None if it names none, as pybind11's
    own classes do."""
    try:
        return _module_field(cls)
    except AttributeError:
        return None


def native_class_name(cls: type) -> str:
    """The name of a class in CPython's own errors, `tp_name`, which for classes written in C may include the module.

    Read from an error that names a class before any of its code is asked."""
    base = dict if issubclass(cls, int) else int
    try:
        base.__new__(cls)
    except TypeError as error:
        return str(error).partition("(")[2].partition("): ")[0]
    raise AssertionError(f"{base.__name__}.__new__ took a class that is no subclass")


def is_one_of(cls: type, classes: Iterable[type]) -> bool:
    """Whether a class is one of these: `in` would compare, and hash, with the `__eq__` and `__hash__` of its metaclass."""
    return any(cls is one for one in classes)


def static_lookup(cls: object, name: str) -> object:
    """What the class or its bases store under the name, not bound; `MISSING` when none does (`_PyType_Lookup`).

    A class of CPython's own that was never made ready (that of `code.co_positions()`) has None for an order.
    """
    for base in resolution_order(cls) or ():
        attributes = type_dict(base)
        if name in attributes:
            return attributes[name]
    return MISSING


def owner_of(cls: object, name: str) -> type | None:
    """The class whose item `static_lookup` finds; None when there is none."""
    for base in resolution_order(cls) or ():
        if name in type_dict(base):
            return base
    return None


def defines(cls: object, name: str) -> bool:
    """Whether the class or one of its bases has an item of this name; the metaclass is not searched."""
    return owner_of(cls, name) is not None


def overrides(cls: object, base: object, name: str) -> bool:
    """Whether look-up on `cls` finds another value than look-up on `base`."""
    return static_lookup(cls, name) is not static_lookup(base, name)


def derives(cls: object, base: type) -> bool:
    """Whether `cls` is a subclass of `base`, as `PyType_IsSubtype`: no method of a metaclass is called."""
    return any(one is base for one in resolution_order(cls))


def is_descriptor(cls: type) -> bool:
    """Whether a class item of this type is bound when it is read through an instance (`tp_descr_get`)."""
    return defines(cls, "__get__")


def is_data_descriptor(cls: type) -> bool:
    """Whether a class item of this type takes precedence over the instance's own attribute: its type stores *or* deletes.

    CPython has one slot for both, `tp_descr_set` (`PyDescr_IsData`).
    """
    return defines(cls, "__set__") or defines(cls, "__delete__")


def comes_first(cls: type) -> bool:
    """Whether a class item of this type is read before the instance's own attribute: a data descriptor that has `__get__`
    (`_PyObject_GenericGetAttrWithDict`); one without is hidden by the attribute."""
    return is_descriptor(cls) and is_data_descriptor(cls)


def is_immutable(cls: object) -> bool:
    """Whether attributes of the class cannot be set (`type_setattro`): it has the flag, as all static types have.

    A static type gets the flag when it is made ready; until then it has no attributes that could be set.
    """
    flags = flags_of(cls)
    return not flags & _HEAP or bool(flags & _IMMUTABLE)


def is_heap_type(cls: object) -> bool:
    """Whether the class was created by a class statement or the equivalent of the C API."""
    return bool(flags_of(cls) & _HEAP)


def direct_subclasses(cls: type) -> "tuple[ref[type], ...]":
    """The classes that derive from it now, in order, each by its one weak reference: what keeps the answer keeps no class."""
    found: list[type] = type.__subclasses__(cls)
    return tuple([ref(each) for each in found])


def has_own_order(cls: type) -> bool:
    """Whether its metaclass computes the resolution order in a way of its own, by a method `mro`."""
    return static_lookup(type(cls), "mro") is not compute_order
