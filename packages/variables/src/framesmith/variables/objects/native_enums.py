"""Enumerations made by pybind11 (`SDPBackend` ...): their members are constants."""

from typing import Final

import torch
import torch.nn.attention

from framesmith.guards.class_lookup import static_lookup
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()

NATIVE_ENUM_META: Final = type(torch.nn.attention.SDPBackend)
"""The metaclass of pybind11."""
NATIVE_GETTER: Final = static_lookup(NATIVE_ENUM_META, "__getattribute__")
"""How it, and metaclasses that derive from it, read attributes: as `type.__getattribute__`, but for methods in C."""


def is_native_enum(kind: object) -> bool:
    """Whether this is an enumeration made by pybind11."""
    return isinstance(kind, type) and type(kind) is NATIVE_ENUM_META and hasattr(kind, "__members__")


ENUMS: Final = frozenset(
    cls for module in (torch._C, torch.nn.attention) for cls in vars(module).values() if is_native_enum(cls)
)
for _kind in ENUMS:
    ROWS.constant_types(_kind)
