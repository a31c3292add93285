"""Operations that eager may refuse although their fakes run, whatever the data: kernels that do not exist for the dtypes.

A kernel is looked for when the operation runs, a fake has none: `(x > 0).relu()` and `torch.arange(3).softmax(0)` raise in eager
only. In a graph they raise as well, and the program goes on from there (ADR 0015); one whose result is unused must not be dropped.
What may raise because of the data is in `data_errors`.
"""

from typing import Final

import torch
from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.operations.data_errors import operator_name

_NAMES: Final = (
    "H T mH mT real getattr getitem __getitem__ clone contiguous detach detach_ alias requires_grad_ "
    "view view_as reshape reshape_as ravel flatten unflatten permute transpose t swapaxes swapdims movedim moveaxis squeeze unsqueeze "
    "expand expand_as broadcast_to broadcast_tensors atleast_1d atleast_2d atleast_3d diagonal diag diag_embed narrow select slice "
    "chunk split split_with_sizes tensor_split unbind hsplit vsplit dsplit as_strided adjoint conj resolve_conj resolve_neg "
    "cat concat concatenate stack hstack vstack dstack column_stack row_stack repeat repeat_interleave tile roll flip fliplr flipud "
    "rot90 tril triu meshgrid block_diag constant_pad_nd pixel_shuffle pixel_unshuffle masked_fill where gather take index_select "
    "to type type_as bool byte char short int long half bfloat16 float double "
    "arange empty empty_like empty_strided zeros zeros_like ones ones_like full full_like eye tensor as_tensor scalar_tensor "
    "new_empty new_zeros new_ones new_full new_tensor "
    "eq ne lt le gt ge equal not_equal less less_equal greater greater_equal isclose isfinite isinf isnan "
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ logical_and logical_or logical_xor logical_not "
    "bitwise_and bitwise_or bitwise_xor bitwise_not and_ or_ xor inv invert __and__ __or__ __xor__ __invert__ "
    "add iadd radd __add__ __radd__ mul imul multiply __mul__ __rmul__ true_divide truediv __truediv__ "
    "sum any all max min maximum minimum prod count_nonzero nonzero sort argsort unique sign square "
    "exp log sqrt rsqrt sin cos tan tanh sigmoid reciprocal"
)
FOR_EVERY_DTYPE: Final = frozenset(_NAMES.split())
"""Operations with a kernel for bool and every integer. A test runs each of them that it can; no others are trusted."""

_FOR_INTEGERS: Final = frozenset(
    [
        "gcd",
        "lcm",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "bitwise_not",
        "bitwise_left_shift",
        "bitwise_right_shift",
        "and_",
        "or_",
        "xor",
        "inv",
        "invert",
        "__and__",
        "__or__",
        "__xor__",
        "__invert__",
        "__rand__",
        "__ror__",
        "__rxor__",
        "lshift",
        "rshift",
        "__lshift__",
        "__rshift__",
        "__rlshift__",
        "__rrshift__",
    ]
)
"""Without a kernel for floats and complex numbers, float32 included."""

_OF_ORDER: Final = frozenset(
    [
        "lt",
        "le",
        "gt",
        "ge",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "max",
        "min",
        "maximum",
        "minimum",
        "sort",
        "argsort",
        "unique",
        "sign",
    ]
)
"""Of those for every dtype the ones that refuse complex numbers."""

_SAFE: Final = frozenset({torch.float32, torch.float64})
_FACTORS: Final = ("alpha", "beta")


def may_be_refused(node: fx.Node) -> bool:
    """Whether eager may raise where the fake did not: no kernel for the dtype, or True for the factor of a sum of numbers."""
    if any(type(node.kwargs.get(name)) is bool for name in _FACTORS):
        return True
    name = operator_name(node.op, node.target)
    values = (one.meta.get(EXAMPLE) for one in node.all_input_nodes)
    return any(isinstance(value, torch.Tensor) and _may_lack_kernel(name, value.dtype) for value in values)


def _may_lack_kernel(name: str, dtype: torch.dtype) -> bool:
    if name in _FOR_INTEGERS and (dtype.is_floating_point or dtype.is_complex):
        return True
    if dtype in _SAFE:
        return False
    return name not in FOR_EVERY_DTYPE or (dtype.is_complex and name in _OF_ORDER)
