"""Which objects an imported module holds under their own names: they live as long as the program does."""

import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import cast

from framesmith.guards.class_lookup import is_heap_type, module_of, qualified_name, type_dict


def is_imported(value: object) -> bool:
    """Whether an imported module is this object, or holds it where its name says; types and functions of C code always."""
    kind = type(value)
    if issubclass(kind, ModuleType):
        return any(value is one for one in sys.modules.values())
    if kind is dict:
        return _is_namespace(cast("dict[str, object]", value))
    if kind is BuiltinFunctionType:
        function = cast(BuiltinFunctionType, value)
        owner = function.__self__
        if owner is None or isinstance(owner, ModuleType) or (isinstance(owner, type) and is_imported(owner)):
            return True
        return _finds(function.__module__, function.__name__) is value
    if isinstance(value, type):
        if not is_heap_type(value) or _finds(module_of(value), qualified_name(value)) is value:
            return True
        # torch puts objects in the place of some of its modules
        return str(module_of(value)).startswith("torch.") and "<" not in qualified_name(value)
    if isinstance(value, FunctionType):
        return _finds(value.__module__, value.__qualname__) is value
    return False


def _finds(module: object, path: str) -> object:
    """What a path of names leads to; None where one of them is missing."""
    if type(module) is not str or type(path) is not str or module not in sys.modules:
        return None
    found: object = sys.modules[module]
    for name in path.split("."):
        held = type_dict(found) if isinstance(found, type) else getattr(found, "__dict__", None)
        if held is None or name not in held:
            return None
        found = held[name]
        if isinstance(found, staticmethod | classmethod):
            found = found.__func__
    return found


def _is_namespace(value: dict[str, object]) -> bool:
    module = sys.modules.get(str(value.get("__name__")))
    return isinstance(module, ModuleType) and vars(module) is value
