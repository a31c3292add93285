"""Whether NotImplemented from a tracker is what CPython's own method of the type would return.

None from `binary`, `reflected`, `inplace` or `compare` means NotImplemented, and if both sides return it the program
gets a TypeError. That is right where the type has no such method, where the method is one of the builtin types below, all
of whose operators are modelled, and where it is a Python function, which was run. The operators of any other type (arrays,
decimals, memory views ...) have not been called at all, so the operation runs natively.
"""

import types
from types import FunctionType
from typing import Final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_VALUE
from framesmith.guards.class_lookup import class_name, overrides, owner_of, type_dict
from framesmith.guards.words import with_article
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.builtin_type import BUILTIN_TYPES
from framesmith.variables.core.constant import Constant

_ARRAY: Final = "ndarray"
_NUMBERS: Final = (int, float, complex)
_BY_UFUNC: Final = frozenset(
    f"__{name}__" for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")
)
_MODELLED: Final[frozenset[type]] = frozenset(
    {
        object, type, type(None), type(...), type(NotImplemented),
        type({}.keys()), type({}.values()), type({}.items()),
        types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType,
        torch.Tensor, torch._C.TensorBase,
    }
)  # fmt: skip
"""The types whose trackers model all operators and comparisons, besides those with a row as a `BuiltinType`."""


def is_modelled(tx: TraceContext, cls: type) -> bool:
    """Whether the trackers of exactly this type model all operators and comparisons."""
    return cls in _MODELLED or cls in tx.registry[BUILTIN_TYPES]


def check_declined(tx: TraceContext, tracker: Tracker, method: str, other: Tracker) -> None:
    """Break the graph when `tracker` returned NotImplemented
    for `method`, but the type's own method was not modelled."""
    base = owner_of(tracker.python_type, method)
    if base is None or is_modelled(tx, base):
        return
    if not _was_run(tracker, type_dict(base)[method]) and not _defers(base, method, other):
        detail = f"{method} of {with_article(tracker.describe())} with {with_article(other.describe())}"
        raise GraphBreak(UNSUPPORTED_VALUE, detail)


def check_run_time_number(number: Tracker, other: Tracker, method: str | None = None) -> None:
    """Break the graph when a number that only the run knows declined an instance of a subclass of a number, which its C method
    takes: it is asked before `method` of that class, or (None) both have declined. Known numbers are folded."""
    part = other.builtin_part
    if part is None or number.builtin_part is not None or isinstance(number, Constant):
        return
    are_numbers = issubclass(number.python_type, _NUMBERS) and issubclass(part.python_type, _NUMBERS)
    if are_numbers and (method is None or overrides(other.python_type, part.python_type, method)):
        number.unsupported(f"an operator with {other.describe()}")


def _was_run(tracker: Tracker, stored: object) -> bool:
    """Whether the stored method is a Python function that the
    tracker has run; a constant (an enum member) runs none."""
    return isinstance(stored, FunctionType) and not isinstance(tracker, Constant)


def _defers(base: type, method: str, other: Tracker) -> bool:
    """Whether the type is an array or scalar of numpy, which leaves the operation to an operand of higher priority (a
    tensor): https://numpy.org/doc/stable/reference/arrays.classes.html#numpy.class.__array_priority__
    A scalar with an array calls the ufunc that the array calls."""
    in_place = method.startswith("__i") and method != "__invert__"
    if base.__module__ != "numpy" or in_place:
        return False
    return issubclass(other.python_type, torch.Tensor) or (
        method in _BY_UFUNC and base.__name__ != _ARRAY and class_name(other.python_type) == _ARRAY
    )
