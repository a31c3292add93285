"""Operations in place whose operands have more elements than their tensor: eager raises, where fakes of some operations make it larger.

x.fmod_(y)       x of 1 row, y of 2      eager: output with shape [1, 3] doesn't match the broadcast shape [2, 3]

Fakes look at the sizes by themselves for the other operations (`add_`, `copy_` ...).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import torch

_PLAIN: Final = (
    "floor_divide divide div remainder fmod pow atan2 arctan2 copysign eq ne lt gt le ge not_equal less less_equal greater "
    "greater_equal bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift hypot nextafter heaviside xlogy gcd lcm "
    "float_power clamp clamp_min clamp_max clip igamma igammac"
)
_OPERATORS: Final = "floordiv mod pow and or xor lshift rshift"
_NAMES: Final = frozenset(
    [
        *(f"{name}_" for name in _PLAIN.split()),
        *(f"i{name}" for name in _OPERATORS.split()),
        *(f"__i{name}__" for name in _OPERATORS.split()),
    ]
)
_OF_MASKS: Final = frozenset(["masked_scatter_"])
"""The first operand is spread over the tensor, what is stored is not."""


def explain_growth(
    target: Callable[..., object] | str, args: Sequence[object], kwargs: Mapping[str, object]
) -> str | None:
    """The message of eager's error; None where it does not raise."""
    name = target if isinstance(target, str) else getattr(target, "__name__", None)
    if name in _NAMES:
        operands = [*args[1:], *kwargs.values()]
    elif name in _OF_MASKS:
        operands = [*args[1:2], kwargs.get("mask")]
    else:
        return None
    written = args[0] if args else None
    if not isinstance(written, torch.Tensor):
        return None
    for operand in operands:
        if isinstance(operand, torch.Tensor) and _is_larger(operand, written):
            return f"output with shape {list(written.shape)} doesn't match the broadcast shape {list(operand.shape)}"
    return None


def _is_larger(operand: torch.Tensor, written: torch.Tensor) -> bool:
    """Whether the operand has a dimension more, or elements along one where the tensor has a single one. Asks nothing of symbols, which
    are not 1 where they come from the caller."""
    if operand.dim() > written.dim():
        return True
    sizes = zip(reversed(operand.shape), reversed(written.shape), strict=False)
    return any(type(own) is int and own == 1 and _is_not_one(size) for size, own in sizes)


def _is_not_one(size: int | torch.SymInt) -> bool:
    if isinstance(size, torch.SymInt):
        hint: object = size.node.hint
        return hint is not None and hint != 1
    return size != 1
