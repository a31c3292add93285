"""Which C callables only look at their operands, so that they may be run now when those are known.

A callable is pure here when it has no effect, keeps no reference to an operand, and gives a value of a type that
`folding.from_python` can turn into a tracker. The sets are filled beside the rows of each family.
"""

from collections.abc import Callable, Hashable, Iterable
from types import BuiltinFunctionType, ClassMethodDescriptorType, MethodDescriptorType, WrapperDescriptorType

_pure: set[Hashable] = set()
_pure_types: set[type] = set()

Descriptor = MethodDescriptorType | WrapperDescriptorType | ClassMethodDescriptorType


def register_pure(functions: Iterable[Callable[..., object]]) -> None:
    """Say that calls of these with known operands may be run while tracing."""
    _pure.update(functions)


def register_pure_type(*kinds: type) -> None:
    """Say that every C method of these immutable types is pure, class methods included."""
    _pure_types.update(kinds)


def is_pure(function: object) -> bool:
    """Whether a call with known operands may be run now."""
    if isinstance(function, Descriptor):
        return function.__objclass__ in _pure_types
    if isinstance(function, BuiltinFunctionType) and isinstance(function.__self__, type):
        return function.__self__ in _pure_types
    try:
        return function in _pure
    except TypeError:
        return False
