"""Operations that eager may refuse although their fakes run: arguments that only a kernel looks at.

`x.sort(5)` of one dimension, `x.max()` of no elements and `conv2d(..., dilation=0)` raise in eager only. In a graph they raise as
well; one whose result is unused must not be dropped. Which operations check all that they are given on fakes is known of some, here;
all others are run. What may raise because of the data is in `data_errors`, missing kernels are in `missing_kernels`.
"""

from functools import lru_cache
from typing import Final

import torch
from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.operations.data_errors import MATRIX_WORK, operator_name
from framesmith.graph.options import is_fixed

_NAMES: Final = (
    "H T mH mT getattr getitem contiguous clone detach "
    "view_as reshape_as ravel flatten unflatten swapaxes swapdims movedim moveaxis expand_as broadcast_to broadcast_tensors "
    "atleast_1d atleast_2d atleast_3d diag_embed slice chunk split hsplit vsplit dsplit adjoint resolve_conj resolve_neg "
    "cat concat concatenate stack hstack vstack dstack column_stack row_stack repeat tile tril triu meshgrid masked_fill where "
    "type type_as bool byte char short int long half bfloat16 float double cfloat cdouble cpu cuda "
    "arange linspace eye empty empty_like empty_strided zeros zeros_like ones ones_like full full_like tensor as_tensor scalar_tensor "
    "new_empty new_zeros new_ones new_full new_tensor "
    "and or xor invert inv lshift rshift truediv true_divide pos subtract multiply negative not_equal less less_equal greater greater_equal "
    "sum nansum mean any all count_nonzero cumsum cumprod numel "
    "softplus dropout alpha_dropout feature_dropout set_grad_enabled"
)
_CHECKED: Final = frozenset(_NAMES.split()) | MATRIX_WORK - {
    "addmv", "cdist", "ormqr", "householder_product", "group_norm", "instance_norm", "batch_norm", "conv_tbc",
    *(f"conv{kind}{rank}d" for kind in ("", "_transpose") for rank in (1, 2, 3)),
}  # fmt: skip
_UNCHECKED: Final = frozenset(
    ["heaviside", "mvlgamma", "max", "min", "select", "unfold", "as_strided", "narrow"]
)
"""Pointwise operations and views whose fakes let pass what the kernel refuses, or that are something else in another form."""
_PREFIXES: Final = ("i", "r")


def may_refuse_arguments(node: fx.Node) -> bool:
    """Whether a recorded operation may raise for what its fake has not looked at."""
    # A number is computed by Python, or read from the form of a tensor.
    if not tensors_in(node.meta.get(EXAMPLE)):
        return False
    name = operator_name(node.op, node.target)
    if name in ("getitem", "__getitem__"):
        return _has_list(node.args[1:])
    if name == "batch_norm":  # which looks for channels and elements
        given = tensors_in(node.all_input_nodes[0].meta.get(EXAMPLE))
        return any(
            one.dim() < 2 or any(not is_fixed(size) or size == 0 for size in one.shape) for one in given
        )
    return not _is_checked(name)


@lru_cache(maxsize=4096)
def _is_checked(name: str) -> bool:
    plain = name.strip("_") if name.startswith("__") else name.removesuffix("_")
    # `__radd__` and `operator.iadd` compute what `add` does.
    forms = [plain, *(plain[1:] for prefix in _PREFIXES if plain.startswith(prefix))]
    return plain not in _UNCHECKED and any(
        one in _CHECKED or _is_pointwise(one) or _is_view(one) for one in forms
    )


def _overloads(name: str) -> list[torch._ops.OpOverload]:
    found = getattr(torch.ops.aten, name, None) if name.isidentifier() else None
    if not isinstance(found, torch._ops.OpOverloadPacket):
        return []
    every = [getattr(found, one) for one in found._overload_names]
    return [one for one in every if not one._schema.is_mutable]


def _is_pointwise(name: str) -> bool:
    return any(torch.Tag.pointwise in one.tags for one in _overloads(name))


def _is_view(name: str) -> bool:
    every = _overloads(name)
    return bool(every) and all(
        any(returned.alias_info is not None for returned in one._schema.returns) for one in every
    )


def _has_list(given: object) -> bool:
    """Whether an index holds a list of numbers, which a fake does not compare with the size."""
    if isinstance(given, tuple):
        return any(map(_has_list, given))
    return isinstance(given, list)
