"""The metadata of a tensor as plain data: what `TensorIs` compares.

The claim itself is in `kinds.tensor`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import torch

from framesmith.guards import torch_adapter
from framesmith.guards.comparison import Comparable

Dims = tuple[int | None, ...]
_INTS = frozenset({int})


@final
@dataclass(frozen=True, slots=True, eq=False)
class TensorSpec(Comparable):
    """The metadata of a tensor: plain data, no reference to it.

    `sizes` and `strides` are None as a whole where the layout has none, and in a dimension that may be anything.
    `details` holds what sparse and quantised tensors have besides.
    """

    cls: type
    dtype: torch.dtype
    device: torch.device
    layout: torch.layout
    requires_grad: bool
    keys: int
    inference: bool
    negative: bool
    conjugate: bool
    sizes: Dims | None
    strides: Dims | None
    details: tuple[object, ...] = ()

    @classmethod
    def capture(
        cls,
        tensor: torch.Tensor,
        dynamic_sizes: Collection[int] = (),
        dynamic_strides: Collection[int] | None = None,
    ) -> "TensorSpec":
        """The metadata of the tensor now; the dynamic sizes and strides match any number.

        By default the strides that depend on a dynamic size are dynamic. No `__torch_function__` is called.
        """
        with torch._C.DisableTorchFunction():  # no __torch_function__ of a subclass or a mode
            sizes, strides = sizes_of(tensor), strides_of(tensor)
            if dynamic_strides is None:
                dynamic_strides = _depending_strides(strides, dynamic_sizes)
            return cls(
                type(tensor),
                tensor.dtype,
                tensor.device,
                tensor.layout,
                tensor.requires_grad,
                torch_adapter.dispatch_keys(tensor),
                tensor.is_inference(),
                tensor.is_neg(),
                tensor.is_conj(),
                _without(sizes, dynamic_sizes),
                _without(strides, dynamic_strides),
                details_of(tensor),
            )

    def accepts(self, value: object) -> bool:
        """Whether the value has this metadata."""
        if type(value) is not self.cls or not isinstance(value, torch.Tensor):
            return False
        with torch._C.DisableTorchFunction():
            return (
                torch_adapter.dispatch_keys(value) == self.keys
                and value.dtype is self.dtype
                and value.device == self.device
                and value.requires_grad is self.requires_grad
                # nearly all are equal: no number that may vary, and the same ones
                and (self.sizes == (sizes := sizes_of(value)) or _agree(self.sizes, sizes))
                and (self.strides == (strides := strides_of(value)) or _agree(self.strides, strides))
                and value.layout is self.layout
                and self.details == details_of(value)
            )

    def example(self) -> torch.Tensor | None:
        """An empty tensor with this metadata, all but sizes and strides, for the native check; None where it cannot serve.

        The native check compares no layout details, hence none for sparse, nested or quantised tensors and subclasses.
        """
        plain = (
            self.cls in (torch.Tensor, torch.nn.Parameter)
            and self.layout is torch.strided
            and not self.details
        )
        if not plain or self.sizes is None or self.strides is None:
            return None
        example = _empty(
            self.cls,
            self.dtype,
            self.device,
            self.requires_grad,
            self.inference,
            self.negative,
            self.conjugate,
        )
        # Keys that an empty tensor made here cannot have (those of a backend's own, of a functorch wrapper ...).
        return example if torch_adapter.dispatch_keys(example) == self.keys else None


def sizes_of(tensor: torch.Tensor) -> Dims | None:
    """The sizes; None if the layout has none (nested), None in a dimension whose size is no plain int. No method of the class runs."""
    try:
        # Sizes of nested tensors are symbolic numbers of torch's own.
        return _plain_numbers(torch.Tensor.size(tensor))
    except RuntimeError:
        return None


def _plain_numbers(numbers: Sequence[int]) -> Dims:
    """Sizes or strides, with None in the place of what is no plain int."""
    if _INTS.issuperset(map(type, numbers)):
        return tuple(numbers)
    return tuple([number if type(number) is int else None for number in numbers])


def strides_of(tensor: torch.Tensor) -> Dims | None:
    """The strides; None if the layout has none, None in a dimension whose stride is no plain int."""
    if tensor.layout is not torch.strided:
        return None
    try:
        return _plain_numbers(torch.Tensor.stride(tensor))
    except RuntimeError:
        return None


def details_of(tensor: torch.Tensor) -> tuple[object, ...]:
    """What layouts other than dense ones have besides sizes and strides."""
    if tensor.layout is torch.sparse_coo:
        return (tensor.sparse_dim(), tensor.dense_dim(), tensor.is_coalesced())
    if tensor.layout in _COMPRESSED:
        return (tensor.sparse_dim(), tensor.dense_dim(), *tensor.values().shape[1:])
    if (
        tensor.is_nested
        and tensor.layout is torch.strided
        and type(tensor) in (torch.Tensor, torch.nn.Parameter)
    ):
        return tuple(map(tuple, tensor._nested_tensor_size().tolist()))
    if tensor.is_quantized:
        scheme = tensor.qscheme()
        if scheme in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            return (scheme, tensor.q_scale(), tensor.q_zero_point())
        return (scheme, tensor.q_per_channel_axis(), tuple(tensor.q_per_channel_scales().tolist()))
    return ()


_COMPRESSED = frozenset({torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc})


def _without(dims: Dims | None, dynamic: Collection[int]) -> Dims | None:
    if dims is None:
        return None
    rank = len(dims)
    skipped = {dim % rank for dim in dynamic} if rank else set()
    return tuple(None if dim in skipped else size for dim, size in enumerate(dims))


def _depending_strides(strides: Dims | None, dynamic_sizes: Collection[int]) -> set[int]:
    """Dimensions laid out around a dynamic one: their stride is a multiple of its size."""
    if strides is None or not strides:
        return set()
    rank = len(strides)
    dynamic = [(strides[dim], dim % rank) for dim in dynamic_sizes]
    return {
        dim
        for dim, stride in enumerate(strides)
        if stride is not None
        and any(
            # Equal strides: one of the two has size 1, and by convention the outer one comes first.
            inner is not None and (stride > inner or (stride == inner and dim < inner_dim))
            for inner, inner_dim in dynamic
        )
    }


def _agree(expected: Dims | None, found: Dims | None) -> bool:
    """Whether numbers that are not equal differ in such dimensions alone that may be anything."""
    if expected is None or found is None:
        return False
    if len(expected) != len(found):
        return False
    return all(was is None or was == size for was, size in zip(expected, found, strict=True))


@lru_cache(maxsize=256)
def _empty(
    cls: type,
    dtype: torch.dtype,
    device: torch.device,
    requires_grad: bool,
    inference: bool,
    negative: bool,
    conjugate: bool,
) -> torch.Tensor:
    """One example per kind of tensor; it holds no elements."""
    with torch_adapter.outside_modes(inference):
        tensor = torch.empty(0, dtype=dtype, device=device)
        tensor = torch._neg_view(tensor) if negative else tensor
        tensor = tensor.conj() if conjugate else tensor
        if cls is torch.nn.Parameter:
            return torch.nn.Parameter(tensor, requires_grad=requires_grad)
        return tensor.requires_grad_() if requires_grad else tensor
