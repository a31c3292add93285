"""The name of a type in CPython's own errors: `tp_name`, which for types written in C may include the module."""

from typing import Final

import torch

from framesmith.variables.core.base import Tracker

# Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_IMMUTABLETYPE
_HEAP: Final = 1 << 9
_IMMUTABLE: Final = 1 << 8


def type_name(tracker: Tracker) -> str:
    """The name of the value's type as an error shows it; breaks the graph where that text is not certain."""
    kind = tracker.python_type
    module = getattr(kind, "__module__", None)
    if (
        not kind.__flags__ & _HEAP and type(module) is str
    ):  # both are cut out of `tp_name` (typeobject.c, type_module)
        return kind.__name__ if module == "builtins" else f"{module}.{kind.__name__}"
    in_python = kind.__flags__ & _HEAP and not kind.__flags__ & _IMMUTABLE
    in_python = in_python and not issubclass(kind, torch._C.StorageBase)  # torch renames these
    if not in_python and module != "builtins":
        tracker.unsupported("an error that names its type")
    return kind.__name__
