"""Operations that eager may refuse although their fakes run, whatever the data: kernels that do not exist for the dtypes.

A kernel is looked for when the operation runs, a fake has none: `(x > 0).relu()` and `torch.arange(3).softmax(0)` raise in eager
only. In a graph they raise as well, and the program goes on from there (ADR 0015); one whose result is unused must not be dropped.
What may raise because of the data is in `data_errors`.
"""

from collections.abc import Sequence
from numbers import Complex, Integral, Real
from typing import Final

import torch
from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
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
_DIFFERENCES: Final = frozenset(
    ["sub", "sub_", "subtract", "subtract_", "rsub", "isub", "__sub__", "__rsub__", "__isub__"]
)
_LARGEST: Final = 2**63
_RANGES: Final = frozenset(["arange", "range", "linspace", "logspace", "randint", "randperm"])
_USUAL: Final = frozenset({
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
    torch.float64, torch.complex64, torch.complex128,
})  # fmt: skip


def may_be_refused(node: fx.Node) -> bool:
    """Whether eager may raise where the fake did not: no kernel for the dtype, a number that the kernel does not take, or True for the
    factor of a sum of numbers."""
    if any(type(node.kwargs.get(name)) is bool for name in _FACTORS):
        return True
    name = operator_name(node.op, node.target)
    dtypes = [
        value.dtype
        for value in (one.meta.get(EXAMPLE) for one in node.all_input_nodes)
        if isinstance(value, torch.Tensor)
    ]
    if not dtypes or "dtype" in node.kwargs:
        made = [one.dtype for one in tensors_in(node.meta.get(EXAMPLE))]
        if name in _RANGES and any(dtype is torch.bool or dtype.is_complex for dtype in made):
            return True
        dtypes += made
    return any(_may_lack_kernel(name, dtype) for dtype in dtypes) or _has_other_number(node, name, dtypes)


def _has_other_number(node: fx.Node, name: str, dtypes: Sequence[torch.dtype]) -> bool:
    """Whether a number is of another kind than the tensors can hold: `torch.bitwise_and(x, 2.5)` of ints, `x < 2j`."""
    if not dtypes:
        return False
    widest = max(map(_kind_of_dtype, dtypes))
    for given in (*node.args, *node.kwargs.values()):
        number = given.meta.get(EXAMPLE) if isinstance(given, fx.Node) else given
        if (type(number) is bool and name in _DIFFERENCES) or _kind_of_number(number) > widest:
            return True
    return False


def _kind_of_dtype(dtype: torch.dtype) -> int:
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 1


def _kind_of_number(number: object) -> int:
    """As of dtypes; 4 for an int that no tensor holds. 0 for what is no number, and for ints, which are dimensions as well."""
    if isinstance(number, Integral):
        return 0 if -_LARGEST <= int(number) < _LARGEST else 4
    if isinstance(number, Real | torch.SymFloat):
        return 2
    return 3 if isinstance(number, Complex) else 0


def _may_lack_kernel(name: str, dtype: torch.dtype) -> bool:
    if name in _FOR_INTEGERS and (dtype.is_floating_point or dtype.is_complex):
        return True
    if dtype in _SAFE:
        return False
    if dtype not in _USUAL:
        return True
    return name not in FOR_EVERY_DTYPE or (dtype.is_complex and name in _OF_ORDER)
