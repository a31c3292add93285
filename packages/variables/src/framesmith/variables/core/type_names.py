"""The name of a type in CPython's own errors."""

from framesmith.guards.class_lookup import is_heap_type, module_of, native_class_name, qualified_name
from framesmith.variables.core.base import Tracker


def type_name(tracker: Tracker) -> str:
    """The name of the value's type as an error shows it."""
    return native_class_name(tracker.python_type)


def full_type_name(tracker: Tracker) -> str:
    """The name that newer errors show (`%T` of PyErr_Format): with the module, but for builtins and `__main__`."""
    cls = tracker.python_type
    module = module_of(cls)
    if not is_heap_type(cls):
        return type_name(tracker)
    if type(module) is not str:
        tracker.unsupported("an error that names its type")
    return qualified_name(cls) if module in ("builtins", "__main__") else f"{module}.{qualified_name(cls)}"
