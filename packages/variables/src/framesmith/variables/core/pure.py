"""Which C callables only read their operands, so that they may run while tracing when the operands are known.

A callable is pure here when it has no effect, keeps no reference to an operand, and returns a value of a type that
`folding.from_python` can turn into a tracker. Which they are is said next to the rows of each family.
"""

from collections.abc import Hashable
from types import BuiltinFunctionType, ClassMethodDescriptorType, MethodDescriptorType, WrapperDescriptorType
from typing import Final

from framesmith.variables.core.registry import Registry, Table

PURE: Final = Table[Hashable, None]("pure functions")
"""Calls of these functions with known operands may run while tracing."""
PURE_TYPES: Final = Table[type, None]("types with pure methods")
"""Every C method of these immutable types is pure, class methods included."""

Descriptor = MethodDescriptorType | WrapperDescriptorType | ClassMethodDescriptorType


def is_pure(registry: Registry, function: object) -> bool:
    """Whether a call with known operands may run while tracing."""
    if isinstance(function, Descriptor):
        return function.__objclass__ in registry[PURE_TYPES]
    # a class method in C that was read through its class: `int.from_bytes`
    if isinstance(function, BuiltinFunctionType) and isinstance(function.__self__, type):
        return function.__self__ in registry[PURE_TYPES]
    try:
        return function in registry[PURE]
    # not hashable, so no row can be registered under it
    except TypeError:
        return False
