"""Which C callables only read their operands, so that they may run while tracing when the operands are known.

A callable is pure here when it has no effect, keeps no reference to an operand, and returns a value of a type that
`folding.from_python` can turn into a tracker. The sets are filled next to the rows of each family.
"""

from collections.abc import Callable, Hashable, Iterable
from types import BuiltinFunctionType, ClassMethodDescriptorType, MethodDescriptorType, WrapperDescriptorType

_pure: set[Hashable] = set()
_pure_types: set[type] = set()

Descriptor = MethodDescriptorType | WrapperDescriptorType | ClassMethodDescriptorType


def register_pure(functions: Iterable[Callable[..., object]]) -> None:
    """Declare that calls of these functions with known operands may run while tracing."""
    _pure.update(functions)


def register_pure_type(*kinds: type) -> None:
    """Declare that every C method of these immutable types is pure, class methods included."""
    _pure_types.update(kinds)


def is_pure(function: object) -> bool:
    """Whether a call with known operands may run while tracing."""
    if isinstance(function, Descriptor):
        return function.__objclass__ in _pure_types
    if isinstance(function, BuiltinFunctionType) and isinstance(function.__self__, type):
        return function.__self__ in _pure_types
    try:
        return function in _pure
    except TypeError:
        return False
