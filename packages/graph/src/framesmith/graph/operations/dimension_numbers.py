"""Numbers of dimensions that fakes take and kernels refuse: `torch.softmax(x, 1)` of an `x` with one dimension.

Eager raises when the program calls the operation, a fake never, but AOTAutograd may where it runs a derivative. Found by trying
the operators that take a `dim` with one that is too large.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import torch

from framesmith.graph.operations.data_errors import operator_name

_PLACES: Final = {
    "softmax": 1,
    "softmin": 1,
    "_softmax": 1,
    "sort": 1,
    "argsort": 1,
    "select_scatter": 2,
    "slice_scatter": 2,
}
"""Where the number stands among the arguments."""


def check_dimension(op: str, target: object, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
    """Raise the IndexError that the kernel raises for a dimension that the first operand does not have."""
    place = _PLACES.get(operator_name(op, target))
    if place is None:
        return
    operand = args[0] if args else kwargs.get("input", kwargs.get("self"))
    number = kwargs["dim"] if "dim" in kwargs else [*args[place : place + 1], None][0]
    if isinstance(operand, torch.Tensor) and type(number) is int:
        # a tensor without dimensions passes for one with one
        torch.empty([0] * max(operand.dim(), 1), device="meta").size(number)
