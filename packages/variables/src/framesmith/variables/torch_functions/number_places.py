"""Where functions and methods of torch take a tensor for a number: `x.mul(v)`, `torch.where(c, x, v)`, `x.fill_(v)`.

For floats that change, where a backend replaces operations (`tensors.number_operands`). With the number at these places the
kernels make the same tensor of it themselves.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import torch

from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.tensors.number_operands import as_converted, as_operand
from framesmith.variables.tensors.tensors import TensorTracker

_ARITHMETIC: Final = (
    "add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder", "fmod",
    "xlogy", "copysign",
)  # fmt: skip
_COMPARISONS: Final = (
    "eq", "ne", "lt", "le", "gt", "ge", "not_equal", "less", "less_equal", "greater", "greater_equal",
)  # fmt: skip
_WIDE: Final = (torch.float32, torch.float64)


def _make_names() -> Mapping[str | Callable[..., object], tuple[int, str]]:
    """The place of the number, and its name, by method names and functions."""
    places = dict.fromkeys((*_ARITHMETIC, *_COMPARISONS), (1, "other"))
    places |= {"masked_fill": (2, "value"), "fill": (1, "value")}
    found: dict[str | Callable[..., object], tuple[int, str]] = {}
    for name, place in places.items():
        for one in (name, f"{name}_"):
            if hasattr(torch.Tensor, one):
                found[one] = place
            function = getattr(torch, one, None)
            if function is not None:
                found[function] = place
    return found


_PLACES: Final = _make_names()
_FILLING: Final = frozenset(
    {"masked_fill", "masked_fill_", "fill_", torch.masked_fill, torch.fill, torch.fill_}
)


def with_number_tensors(
    tx: TraceContext,
    target: Callable[..., object] | str,
    args: Sequence[Tracker],
    kwargs: Mapping[str, Tracker],
) -> tuple[Sequence[Tracker], Mapping[str, Tracker]]:
    """The arguments of a call with tensors in place of the floats that change, where the operation takes them."""
    if not tx.graph.has_floats:
        return args, kwargs
    if target is torch.where or target == "where":
        return _with_branches(tx, args, 1 if callable(target) else 0), kwargs
    found = _PLACES.get(target)
    if found is None or not args or not isinstance(first := args[0].realize(), TensorTracker):
        return args, kwargs
    place, name = found
    given = args[place].realize() if len(args) > place else kwargs.get(name)
    if given is None or (target in _FILLING and first.fake.dtype not in _WIDE):
        return args, kwargs
    # What is filled in is converted, and must not be too large for the type.
    take = as_converted if target in _FILLING else as_operand
    operand = take(tx, [first.fake], given.realize())
    if len(args) > place:
        return (*args[:place], operand, *args[place + 1 :]), kwargs
    return args, {**kwargs, name: operand}


def _with_branches(tx: TraceContext, args: Sequence[Tracker], start: int) -> Sequence[Tracker]:
    """`torch.where(condition, a, b)`, or `a.where(condition, b)`: a number beside a tensor."""
    if len(args) != 3:
        return args
    places = (1, 2) if start else (0, 2)
    branches = [args[place].realize() for place in places]
    given = [*args]
    for place, one, other in zip(places, branches, reversed(branches), strict=True):
        if isinstance(other, TensorTracker):
            given[place] = as_converted(tx, [other.fake], one)
    return given
