"""Operations in place whose result has a type that their tensor cannot hold: eager raises, where fakes of some operations do not.

x.mul_(1j)       a float tensor      eager: result type ComplexFloat can't be cast to the desired output type Float
mask += 1        a tensor of bools

The type of the result is that of the operation that makes a new tensor, run on the same fakes.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType
from typing import Final

import torch

_OPERATORS: Final = {
    getattr(operator, name): getattr(operator, name[1:])
    for name in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow")
}
_OF_NUMBERS: Final = {
    bool: 0,
    int: 1,
    float: 2,
    complex: 3,
    torch.SymBool: 0,
    torch.SymInt: 1,
    torch.SymFloat: 2,
}


def explain_cast(
    target: Callable[..., object] | str, args: Sequence[object], kwargs: Mapping[str, object]
) -> str | None:
    """The message of eager's error; None where it does not raise, or the operation is none in place."""
    function = _without_writing(target)
    if function is None or not args or not _may_widen(args[0], (*args[1:], *kwargs.values())):
        return None
    try:
        with torch.no_grad():
            found = function(*args, **kwargs)
    except Exception:
        return None  # the operation itself says what is wrong
    results = found if isinstance(found, list | tuple) else [found]
    for tensor, result in zip(_tensors(args[0]), results, strict=False):
        if isinstance(result, torch.Tensor) and not torch.can_cast(result.dtype, tensor.dtype):
            return f"result type {result.dtype} can't be cast to the desired output type {tensor.dtype}"
    return None


def _may_widen(changed: object, others: Sequence[object]) -> bool:
    """Whether an operand is of a wider kind of numbers than what is changed: bools, ints, floats, complex numbers."""
    own = [_kind(tensor.dtype) for tensor in _tensors(changed)]
    return bool(own) and any(kind > min(own) for other in others for kind in _kinds(other))


def _tensors(value: object) -> list[torch.Tensor]:
    items = value if isinstance(value, list | tuple) else [value]
    return [one for one in items if isinstance(one, torch.Tensor)]


def _kinds(value: object) -> list[int]:
    if isinstance(value, torch.Tensor):
        return [_kind(value.dtype)]
    if isinstance(value, list | tuple):
        return [kind for one in value for kind in _kinds(one)]
    kind = _OF_NUMBERS.get(type(value))
    return [] if kind is None else [kind]


def _kind(dtype: torch.dtype) -> int:
    if dtype.is_complex or dtype.is_floating_point:
        return 2 + dtype.is_complex
    return int(dtype is not torch.bool)


def _without_writing(target: Callable[..., object] | str) -> Callable[..., object] | None:
    """The operation that makes a new tensor for one in place."""
    if isinstance(target, BuiltinFunctionType):
        name = target.__name__
        known = _OPERATORS.get(target)
        written = name.endswith("_") and getattr(torch, name, None) is target
        return known or (getattr(torch, name[:-1], None) if written else None)
    if not isinstance(target, str):
        return None
    is_special = target.startswith("__i") and target.endswith("__")
    name = f"__{target[3:]}" if is_special else target[:-1] if target.endswith("_") else ""
    found = getattr(torch.Tensor, name, None) if name else None
    return found if callable(found) else None
