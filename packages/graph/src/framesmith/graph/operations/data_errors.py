"""Operations that may raise because of the data of their arguments, although types and shapes are right (ADR 0015).

The table comes from torch's documentation and from `tests/sweeps/data_errors.py`, which tries torch's operators with bad
data; `tests/end_to_end/test_data_errors.py` checks what programs see. The values that the program can see when one
raises have to be kept until it has run (see `failures`), and it has to run although its result is unused (see `prune`).
"""

import math
from types import FunctionType
from typing import Final, Protocol, TypeVar

import torch
from torch import fx
from torch._subclasses import FakeTensor

from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.operations.purity import is_foreign

_INDEX: Final = "an index is out of range"
_DIVISION: Final = "an integer is divided by zero"
_POWER: Final = "an integer is raised to a negative power"
_READS: Final = "it reads the data"
T = TypeVar("T")
_ONLY_COMPUTES: Final = "framesmith_only_computes"
_NEVER_FAILS: Final = "framesmith_never_fails"
_FOREIGN: Final = "it is not one of torch's"
_REASONS: Final[dict[str, str]] = {
    _INDEX: (
        "embedding embedding_bag index index_select index_add index_add_ index_copy index_copy_ index_fill index_fill_ "
        "index_put index_put_ index_reduce index_reduce_ gather scatter scatter_ scatter_add scatter_add_ scatter_reduce "
        "scatter_reduce_ take take_along_dim put put_ getitem setitem __getitem__ __setitem__ select narrow "
        "masked_scatter masked_scatter_ max_unpool1d max_unpool2d max_unpool3d"
    ),
    "a window leaves out samples": "istft",
    "a class or position is out of range": "one_hot unravel_index",
    "a target or weight is out of range": (
        "cross_entropy linear_cross_entropy nll_loss nll_loss_nd nll_loss2d multi_margin_loss multilabel_margin_loss binary_cross_entropy ctc_loss "
        "gaussian_nll_loss cosine_embedding_loss"
    ),
    "a matrix is singular, not positive definite or does not converge": (
        "inv inv_ex inverse cholesky cholesky_ex cholesky_inverse cholesky_solve solve solve_ex solve_triangular lu lu_factor "
        "lu_solve ldl_factor ldl_solve eig eigh eigvals eigvalsh svd svdvals svd_lowrank pca_lowrank lstsq pinv matrix_rank "
        "qr tensorinv tensorsolve matrix_power lobpcg det slogdet logdet cond pinverse norm matrix_norm nuclear_norm frobenius_norm"
    ),
    "it reaches outside of the storage": "as_strided as_strided_ as_strided_copy as_strided_scatter",
    "operands or out= have another dtype": "complex aminmax",
    _DIVISION: (
        "div div_ divide divide_ true_divide floor_divide floor_divide_ remainder remainder_ fmod fmod_ floordiv mod ifloordiv "
        "imod __floordiv__ __mod__ __rfloordiv__ __rmod__ addcdiv addcdiv_ gcd lcm"
    ),
    _POWER: "pow pow_ ipow __pow__ float_power",
    "a probability or parameter is out of range": (
        "multinomial bernoulli bernoulli_ binomial poisson normal normal_ exponential_ geometric_ cauchy_ log_normal_ uniform_ "
        "random_ _standard_gamma _sample_dirichlet"
    ),
    "a number of elements depends on the data": (
        "bincount repeat_interleave histc histogram histogramdd searchsorted bucketize segment_reduce split_with_sizes "
        "tensor_split pack_padded_sequence _pack_padded_sequence"
    ),
    "it is an assertion": (
        "_assert _assert_async _assert_scalar _assert_tensor_metadata _check _check_index _check_is_size _check_value "
        "_check_type _check_not_implemented _functional_assert_async _functional_assert_scalar assert_close"
    ),
    _READS: "item tolist is_nonzero __bool__ __int__ __float__ __index__ equal allclose nonzero masked_select unique",
}  # fmt: skip
_MATRIX_WORK: Final = (
    "matmul imatmul __matmul__ __rmatmul__ mm dsmm hsmm saddmm bmm addmm addmm_ addbmm addbmm_ baddbmm baddbmm_ mv addmv addmv_ addr addr_ dot "
    "vdot inner outer ger linear bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc einsum "
    "tensordot chain_matmul multi_dot scaled_dot_product_attention layer_norm group_norm instance_norm batch_norm rms_norm prelu "
    "lerp lerp_ cdist householder_product ormqr"
)
MATRIX_WORK: Final = frozenset(_MATRIX_WORK.split())
"""Kernels that refuse operands of different dtypes, which fakes let pass."""
CHANGES_FORM: Final = frozenset(
    ["as_strided_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_"]
)
_OWN_NAMESPACES: Final = frozenset({"aten", "prims", "_c10d_functional", "higher_order"})
_NAMES: Final = {name: reason for reason, names in _REASONS.items() for name in names.split()}


def explain_data_failure(op: str, target: object) -> str | None:
    """Why the operation may raise on data; None if it does not. A function that is not torch's always may."""
    if isinstance(target, torch._ops.HigherOrderOperator):
        return "it runs a graph of its own"
    if _is_marked(target, _NEVER_FAILS):
        return None
    return _FOREIGN if runs_user_code(op, target) else _NAMES.get(operator_name(op, target))


def runs_user_code(op: str, target: object) -> bool:
    """Whether it is a function that is not torch's, and may have any effect besides computing its result."""
    if isinstance(target, torch._ops.HigherOrderOperator):
        return False
    if isinstance(target, torch._ops.OpOverload):
        return target.namespace not in _OWN_NAMESPACES
    return is_foreign(target) and op == "call_function"


def only_computes(function: T) -> T:
    """Decorator for a function of framesmith that nodes call: it draws nothing, runs no code of the user, and writes nothing
    that fakes do not see. So it may run again after it has raised."""
    setattr(function, _ONLY_COMPUTES, True)
    return function


def never_fails(function: T) -> T:
    """Decorator for a function of framesmith that nodes call, which raises nothing that it has not raised on fakes."""
    setattr(function, _NEVER_FAILS, True)
    return function


def may_have_effects(op: str, target: object) -> bool:
    """`runs_user_code`, but for functions that say that they only compute."""
    return runs_user_code(op, target) and not _is_marked(target, _ONLY_COMPUTES)


def _is_marked(target: object, mark: str) -> bool:
    # Only functions can have one, and `vars` of an object of the user may run its code.
    return type(target) is FunctionType and mark in vars(target)


def operator_name(op: str, target: object) -> str:
    """The plain name of an operation, the same for all of torch's namespaces and overloads that offer it."""
    if isinstance(target, torch._ops.OpOverload):
        target = target.overloadpacket
    name = str(target) if op == "call_method" else str(getattr(target, "__name__", ""))
    return name.removeprefix("linalg_").removeprefix("special_")


class FallibleWatch(Protocol):
    """Is told of the operations that are recorded after something was written or random numbers were drawn."""

    def before_recording(self) -> None:
        """An operation that may raise on data is about to be recorded: the values that the program sees have to be kept."""
        ...

    def after_recording(self, node: fx.Node) -> None:
        """An operation was recorded. Raises GraphBreak if the program could not go on from here if it raised."""
        ...


def fails_on_data(op: str, target: object) -> bool:
    """Whether the operation may raise on data."""
    return explain_data_failure(op, target) is not None


def may_raise(node: fx.Node) -> bool:
    """Whether a recorded operation may raise, so that it has to run although its result is unused."""
    reason = explain_data_failure(node.op, node.target)
    if reason is None:
        return operator_name(node.op, node.target) in MATRIX_WORK and _has_two_dtypes(node)
    if reason == _INDEX:
        return _count_nodes(node) > 1  # the index is a tensor; numbers were checked while tracing
    if reason in (_DIVISION, _POWER):
        value = node.meta.get(EXAMPLE)
        # Floats divide by zero to inf or nan, and have negative powers.
        return not (isinstance(value, torch.Tensor) and value.is_floating_point())
    return reason != _READS


def has_wild_number(node: fx.Node) -> bool:
    """Whether a number that is given to the operation may not be one of the dtype of its result or of an operand; fakes let it pass."""
    numbers: list[object] = []

    def see(given: fx.node.Argument) -> fx.node.Argument:
        value = given.meta.get(EXAMPLE) if isinstance(given, fx.Node) else given
        if isinstance(value, int | float | torch.SymInt | torch.SymFloat) and not isinstance(value, bool):
            numbers.append(value)
        return given

    others = [
        one
        for one in node.args
        if not isinstance(one, fx.Node) or type(one.meta.get(EXAMPLE)) is not FakeTensor
    ]
    if others or node.kwargs:  # nearly all operations are given tensors alone
        fx.node.map_aggregate((node.args, node.kwargs), see)
    if not numbers:
        return False
    values = [node.meta.get(EXAMPLE), *(one.meta.get(EXAMPLE) for one in node.all_input_nodes)]
    dtypes = {value.dtype for value in values if isinstance(value, torch.Tensor)}
    return any(not _is_in_range(number, dtype) for dtype in dtypes for number in numbers)


def _is_in_range(number: object, dtype: torch.dtype) -> bool:
    """Whether a number is one of the dtype but for rounding. A number that is known at run time only may be any of its own type."""
    if dtype is torch.bool or dtype.is_complex:
        return True
    if dtype.is_floating_point:
        if not isinstance(number, int | float):
            return dtype is torch.float64 or isinstance(number, torch.SymInt)
        return not math.isfinite(number) or abs(number) <= torch.finfo(dtype).max
    if not isinstance(number, int | float):
        return dtype is torch.int64 and isinstance(number, torch.SymInt)
    limits = torch.iinfo(dtype)
    return limits.min <= number <= limits.max


def changes_form_of_input(node: fx.Node) -> bool:
    """Whether a recorded operation gives an input of the graph another shape or other strides, as `x.t_()` does."""
    if operator_name(node.op, node.target) not in CHANGES_FORM:
        return False
    value = node.meta.get(EXAMPLE)  # an operation in place returns the very fake
    return any(one.meta.get(EXAMPLE) is value for one in node.graph.find_nodes(op="placeholder"))


def _has_two_dtypes(node: fx.Node) -> bool:
    values = [one.meta.get(EXAMPLE) for one in node.all_input_nodes]
    return len({value.dtype for value in values if isinstance(value, torch.Tensor)}) > 1


def _count_nodes(node: fx.Node) -> int:
    """How many arguments are nodes; one that is given twice (`x[x]`) counts twice."""
    count = 0

    def see(_: fx.Node) -> None:
        nonlocal count
        count += 1

    fx.map_arg((node.args, node.kwargs), see)
    return count
