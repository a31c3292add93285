"""Which modules are imported, and which objects they hold under their own names: those live as long as the program does."""

import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import cast

from framesmith.guards.class_lookup import is_heap_type, module_dict, module_of, qualified_name, type_dict


def find_loaded(name: str) -> ModuleType | None:
    """The module in `sys.modules`, unless its body is still being executed.

    Another thread may be importing it, or was when this process was forked from its parent.
    """
    module: object = sys.modules.get(name)
    if not issubclass(type(module), ModuleType):
        return None
    found = cast(ModuleType, module)
    spec = module_dict(found).get("__spec__")
    # importlib's own mark; a spec of another type may run code when it is read.
    return None if type(spec) is ModuleSpec and getattr(spec, "_initializing", False) else found


def is_imported(value: object) -> bool:
    """Whether an imported module is this object, or holds it where its name says; types and functions of C code always.

    The object and what is on the way to it may be the user's: none of their code runs.
    """
    cls = type(value)
    if issubclass(cls, ModuleType):
        # A list, since another thread may import meanwhile; by identity, since a module may have an `__eq__`.
        return any(value is one for one in list(sys.modules.values()))
    if cls is dict:
        return is_namespace(value)
    if cls is BuiltinFunctionType:
        function = cast(BuiltinFunctionType, value)
        owner: object = function.__self__
        # The `__self__` of a builtin function is its module; of a bound method it is an object of the program.
        is_lasting = owner is None or issubclass(type(owner), ModuleType)
        if is_lasting or (issubclass(type(owner), type) and is_imported(owner)):
            return True
        return _finds(function.__module__, function.__name__) is value
    if issubclass(cls, type):
        cls = cast(type, value)
        if not is_heap_type(cls) or _finds(module_of(cls), qualified_name(cls)) is cls:
            return True
        # torch puts objects in the place of some of its modules
        return str(module_of(cls)).startswith("torch.") and "<" not in qualified_name(cls)
    if cls is FunctionType:
        named = cast(FunctionType, value)
        return _finds(named.__module__, named.__qualname__) is value
    return False


def _finds(module: object, path: str) -> object:
    """What a path of names leads to through modules and classes; None where one of them is missing."""
    if type(module) is not str or type(path) is not str or module not in sys.modules:
        return None
    found: object = sys.modules[module]
    for name in path.split("."):
        held = _names_of(found)
        if held is None or name not in held:
            return None
        found = held[name]
        # The function that was decorated is what the program has in its hands, not the descriptor.
        if issubclass(type(found), staticmethod | classmethod):
            found = cast("staticmethod[..., object]", found).__func__
    return found


def _names_of(holder: object) -> Mapping[str, object] | None:
    """The dictionary of a module or class."""
    cls = type(holder)
    if issubclass(cls, type):
        return type_dict(cast(type, holder))
    return module_dict(cast(ModuleType, holder)) if issubclass(cls, ModuleType) else None


def is_namespace(value: object) -> bool:
    """Whether a value is the dictionary of an imported module, which the process holds."""
    if type(value) is not dict:
        return False
    name = value.get("__name__")
    module = sys.modules.get(name) if type(name) is str else None
    return issubclass(type(module), ModuleType) and module_dict(cast(ModuleType, module)) is value
