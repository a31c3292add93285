"""The claim about a tensor's metadata, and what changed when it fails.

`TensorIs` claims of one guard set are compiled into a single native call (see `program`); the text a claim renders
by itself is the slow equivalent.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import torch

from framesmith.guards import torch_adapter
from framesmith.guards.comparison import Comparable
from framesmith.guards.kinds.base import Claim, shown
from framesmith.guards.names import Names, literal
from framesmith.guards.sources.base import Source

Dims = tuple[int | None, ...]


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
        """What holds of the tensor now. Strides that depend on a dynamic size are dynamic unless said otherwise."""
        with torch._C.DisableTorchFunction():  # no __torch_function__ of a subclass or a mode
            sizes, strides = _sizes_of(tensor), _strides_of(tensor)
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
                _details_of(tensor),
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
                and _agree(self.sizes, _sizes_of(value))
                and _agree(self.strides, _strides_of(value))
                and value.layout is self.layout
                and self.details == _details_of(value)
            )

    def example(self) -> torch.Tensor | None:
        """An empty tensor the native check may learn everything but the sizes from; None when it cannot tell."""
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
        return example if torch_adapter.dispatch_keys(example) == self.keys else None


@final
@dataclass(frozen=True, slots=True)
class TensorChange:
    """What differs between a spec and a tensor. Sizes and strides: (dimension, was, is) each.

    `other` names the remaining fields that differ (`dtype`, `requires_grad` ...), `rank` the old and new one.
    """

    sizes: tuple[tuple[int, int, int], ...] = ()
    strides: tuple[tuple[int, int, int], ...] = ()
    rank: tuple[int, int] | None = None
    other: tuple[str, ...] = ()

    @property
    def only_shape(self) -> bool:
        """Whether making dimensions dynamic would have been enough."""
        return self.rank is None and not self.other and bool(self.sizes or self.strides)


@final
@dataclass(frozen=True, slots=True, eq=False)
class TensorIs(Claim):
    """The value is a tensor of exactly this class and metadata.

    All tensors a guard set claims this of are pairwise distinct objects, except where it also says `SameObject`.
    """

    spec: TensorSpec

    @classmethod
    def capture(
        cls,
        tensor: torch.Tensor,
        dynamic_sizes: Collection[int] = (),
        dynamic_strides: Collection[int] | None = None,
    ) -> "TensorIs":
        """See `TensorSpec.capture`."""
        return cls(TensorSpec.capture(tensor, dynamic_sizes, dynamic_strides))

    def check(self, value: object) -> bool:
        return self.spec.accepts(value)

    def render(self, value_expression: str, names: Names) -> str:
        return f"{names.constant(self.spec.accepts, 'tensor')}({value_expression})"

    def change(self, value: object) -> TensorChange:
        """What differs. A value that is no tensor differs in its `type`."""
        if not isinstance(value, torch.Tensor):
            return TensorChange(other=("type",))
        with torch._C.DisableTorchFunction():
            return self._change(value)

    def _change(self, value: torch.Tensor) -> TensorChange:
        spec = self.spec
        other = [name for name, (was, found) in _fields(spec, value).items() if was != found]
        sizes, strides = _sizes_of(value), _strides_of(value)
        if spec.sizes is not None and sizes is not None and len(sizes) != len(spec.sizes):
            return TensorChange(rank=(len(spec.sizes), len(sizes)), other=tuple(other))
        if not other and torch_adapter.dispatch_keys(value) != spec.keys:
            other.append("dispatch keys")
        if not other and spec.details != _details_of(value):
            other.append("details")
        return TensorChange(
            _differences(spec.sizes, sizes), _differences(spec.strides, strides), None, tuple(other)
        )

    def explain(self, value: object, source: Source) -> str:
        name = source.text()
        if not isinstance(value, torch.Tensor):
            return f"{name}: was a tensor, is {shown(value)} now"
        change = self.change(value)
        with torch._C.DisableTorchFunction():
            fields = _fields(self.spec, value)
        phrases = [
            f"{field} changed from {shown(fields[field][0])} to {shown(fields[field][1])}"
            if field in fields
            else f"its {field} changed"
            for field in change.other
        ]
        if change.rank:
            phrases.append(f"number of dimensions changed from {change.rank[0]} to {change.rank[1]}")
        phrases += [
            f"size of dimension {dim} changed from {was} to {found}" for dim, was, found in change.sizes
        ]
        if not change.sizes:
            phrases += [
                f"stride of dimension {dim} changed from {was} to {found}"
                for dim, was, found in change.strides
            ]
        return f"{name}: {', '.join(phrases) or 'its metadata changed'}"

    def text(self, source: Source) -> str:
        spec = self.spec
        sizes = (
            "?"
            if spec.sizes is None
            else ", ".join("*" if size is None else str(size) for size in spec.sizes)
        )
        grad = ", requires_grad" if spec.requires_grad else ""
        return f"{source.text()}: {spec.cls.__name__} [{sizes}] {spec.dtype} on {spec.device}{grad}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class TensorProperty(Claim):
    """A cheap attribute of a tensor that the metadata does not hold: `is_leaf`, `retains_grad`, `_is_view` ...

    The value is compared by identity; a method is called without arguments.
    """

    name: str
    value: bool | None

    def check(self, value: object) -> bool:
        found = getattr(value, self.name)
        return (found() if callable(found) else found) is self.value

    def render(self, value_expression: str, names: Names) -> str:
        call = "()" if callable(getattr(torch.Tensor, self.name)) else ""
        return f"{value_expression}.{self.name}{call} is {literal(self.value, names)}"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: {self.name} is no longer {self.value}"

    def text(self, source: Source) -> str:
        return f"{source.text()}.{self.name} is {self.value}"


def _fields(spec: TensorSpec, tensor: torch.Tensor) -> dict[str, tuple[object, object]]:
    """What the user has words for, as expected and as found."""
    return {
        "type": (spec.cls, type(tensor)),
        "dtype": (spec.dtype, tensor.dtype),
        "device": (spec.device, tensor.device),
        "layout": (spec.layout, tensor.layout),
        "requires_grad": (spec.requires_grad, tensor.requires_grad),
        "is_inference": (spec.inference, tensor.is_inference()),
        "is_conj": (spec.conjugate, tensor.is_conj()),
        "is_neg": (spec.negative, tensor.is_neg()),
    }


def _sizes_of(tensor: torch.Tensor) -> Dims | None:
    """The sizes; None for layouts without (nested), None in a dimension that is no plain int."""
    try:
        return tuple(size if type(size) is int else None for size in tensor.size())
    except RuntimeError:
        return None


def _strides_of(tensor: torch.Tensor) -> Dims | None:
    if tensor.layout is not torch.strided:
        return None
    try:
        return tuple(stride if type(stride) is int else None for stride in tensor.stride())
    except RuntimeError:
        return None


def _details_of(tensor: torch.Tensor) -> tuple[object, ...]:
    if tensor.is_sparse:
        return (tensor.sparse_dim(), tensor.dense_dim(), tensor.is_coalesced())
    if tensor.layout is not torch.strided and not tensor.is_nested:
        return (tensor.sparse_dim(), tensor.dense_dim())
    if tensor.is_quantized:
        scheme = tensor.qscheme()
        if scheme in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            return (scheme, tensor.q_scale(), tensor.q_zero_point())
        return (scheme, tensor.q_per_channel_axis())
    return ()


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
            inner is not None and (stride > inner or (stride == inner and dim < inner_dim))
            for inner, inner_dim in dynamic
        )
    }


def _agree(expected: Dims | None, found: Dims | None) -> bool:
    if expected is None or found is None:
        return expected is found
    if len(expected) != len(found):
        return False
    return all(was is None or was == size for was, size in zip(expected, found, strict=True))


def _differences(expected: Dims | None, found: Dims | None) -> tuple[tuple[int, int, int], ...]:
    if expected is None or found is None or len(expected) != len(found):
        return ()
    return tuple(
        (dim, was, size)
        for dim, (was, size) in enumerate(zip(expected, found, strict=True))
        if was is not None and size is not None and was != size
    )


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
