"""The name of a type in CPython's own errors: `tp_name`, which for types written in C may include the module."""

import torch

from framesmith.guards.class_lookup import class_name, is_heap_type, is_immutable, module_of, qualified_name
from framesmith.variables.core.base import Tracker


def type_name(tracker: Tracker) -> str:
    """The name of the value's type as an error shows it; breaks the graph where that text is not certain."""
    return name_of_type(tracker, tracker.python_type)


def name_of_type(tracker: Tracker, cls: type) -> str:
    """The name of a type as an error about this value shows it; breaks the graph where that text is not certain."""
    module = module_of(cls)
    # both are cut out of `tp_name` (typeobject.c, type_module)
    if not is_heap_type(cls) and type(module) is str:
        return class_name(cls) if module == "builtins" else f"{module}.{class_name(cls)}"
    in_python = not is_immutable(cls) and not issubclass(cls, torch._C.StorageBase)  # torch renames these
    if not in_python and module != "builtins":
        tracker.unsupported("an error that names its type")
    return class_name(cls)


def full_type_name(tracker: Tracker) -> str:
    """The name that newer errors show (`%T` of PyErr_Format): with the module, but for builtins and `__main__`."""
    cls = tracker.python_type
    module = module_of(cls)
    if not is_heap_type(cls):
        return type_name(tracker)
    if type(module) is not str:
        tracker.unsupported("an error that names its type")
    return qualified_name(cls) if module in ("builtins", "__main__") else f"{module}.{qualified_name(cls)}"
