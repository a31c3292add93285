"""Results whose fakes have other strides than what eager gives: they are laid out as in eager.

What a program reads (`y.is_contiguous()`), and whether `y.contiguous()` is `y` itself, depends on them. Known of torch 2.13 to 2.15,
for operands that are not contiguous; a test compares every rule with the kernel.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import torch
from torch import fx
from torch._prims_common import make_contiguous_strides_for, suggest_memory_format
from torch.autograd.grad_mode import _unsafe_preserve_version_counter

from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.operations.data_errors import operator_name
from framesmith.graph.options import is_fixed

_LIKE_OPERAND: Final = frozenset(["batch_norm", "native_batch_norm", "roll", "channel_shuffle"])
"""Contiguous, in the memory format of the first operand."""
_POINTWISE: Final = frozenset(
    [
        "floor_divide", "floordiv", "__floordiv__", "__rfloordiv__", "copysign", "xlogy",
        "special_xlogy", "xlog1py", "special_xlog1py",
    ]
)  # fmt: skip
"""As any pointwise operation on these operands; the fakes of these are made by decompositions."""
_DIVISIONS: Final = frozenset(["div", "divide"])
"""The same where they round."""
OTHER_STRIDES: Final = _LIKE_OPERAND | _POINTWISE | _DIVISIONS


def may_differ(name: str, keywords: Collection[str], operands: Sequence[torch.Tensor]) -> bool:
    """Whether the fake of what an operation makes of these operands may have other strides than eager gives it."""
    is_known = (
        name in _POINTWISE or name in _LIKE_OPERAND or (name in _DIVISIONS and "rounding_mode" in keywords)
    )
    return is_known and not all(map(_is_contiguous, operands))


def has_small_gaps(node: fx.Node) -> bool:
    """Whether the real strides of a computed tensor may differ from the fake ones in a dimension of size 0 or 1: a kernel chooses them, but
    for operands that are contiguous, as those are that these were computed from."""
    sizes = [size for tensor in tensors_in(node.meta[EXAMPLE]) for size in tensor.shape]
    if not any(type(size) is int and size < 2 for size in sizes):
        return False
    todo, seen = [node], set[fx.Node]()
    while todo:
        for tensor in tensors_in((one := todo.pop()).meta.get(EXAMPLE)):
            if tensor.stride() != make_contiguous_strides_for(tensor.shape):
                return True
        todo += set(one.all_input_nodes) - seen
        seen.update(one.all_input_nodes)
    return False


def lay_out_as_eager(
    op: str, target: object, args: Sequence[object], kwargs: Mapping[str, object], result: object
) -> None:
    """Give the new fakes of an operation the strides that its kernel gives them."""
    name = operator_name(op, target)
    if name not in OTHER_STRIDES:
        return
    operands = tensors_in([*args, *kwargs.values()])
    made = next(iter(tensors_in(result)), None)
    if made is None or any(made is one for one in operands) or not may_differ(name, kwargs, operands):
        return
    with torch.no_grad():
        if name in _LIKE_OPERAND:
            _lay_out(made, torch.empty_like(made, memory_format=suggest_memory_format(operands[0])))
        elif len(operands) == 2:
            _lay_out(made, torch.add(*operands))


def _is_contiguous(tensor: torch.Tensor) -> bool:
    # Symbolic strides are compared by torch, which may guard: only where they differ is anything to be done.
    return tensor.layout is not torch.strided or tensor.is_contiguous()


def _lay_out(made: torch.Tensor, model: torch.Tensor) -> None:
    if all(
        one is other or (is_fixed(one) and one == other)
        for one, other in zip(made.stride(), model.stride(), strict=True)
    ):
        return
    # The result is new: nothing has its history or its version yet.
    with _unsafe_preserve_version_counter((made,)):
        made.as_strided_(model.shape, model.stride())
