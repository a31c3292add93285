"""Path elements into tensors: sizes, strides, the offset into the storage, the only element, the gradient.

They ask a value for tensor methods, so their guards are checked after the tensor itself (see `program`).
"""

from dataclasses import dataclass
from typing import cast, final

import torch

from framesmith.guards.names import Names
from framesmith.guards.scope import Scope
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True, eq=False)
class Unasked(Source):
    """The sizes of a tensor (see `SizesUnasked`) whose class may override functions and methods; it is not asked."""

    base: Source

    def read(self, scope: Scope) -> object:
        return SizesUnasked(scope.value_of(self.base))

    def expression(self, names: Names) -> str:
        return f"{names.constant(SizesUnasked, 'sizes_unasked')}({names.source(self.base)})"

    def text(self) -> str:
        return self.base.text()


@final
@dataclass(frozen=True, slots=True, eq=False)
class TensorSize(Source):
    """`tensor.size(dim)`."""

    base: Source
    dim: int

    def read(self, scope: Scope) -> object:
        return call_tensor_method(scope.value_of(self.base), "size", self.dim)

    def expression(self, names: Names) -> str:
        return f"{names.source(self.base)}.size({self.dim})"

    def text(self) -> str:
        return f"{self.base.text()}.size({self.dim})"


@final
@dataclass(frozen=True, slots=True, eq=False)
class TensorStride(Source):
    """`tensor.stride(dim)`."""

    base: Source
    dim: int

    def read(self, scope: Scope) -> object:
        return call_tensor_method(scope.value_of(self.base), "stride", self.dim)

    def expression(self, names: Names) -> str:
        return f"{names.source(self.base)}.stride({self.dim})"

    def text(self) -> str:
        return f"{self.base.text()}.stride({self.dim})"


@final
@dataclass(frozen=True, slots=True, eq=False)
class TensorStorageOffset(Source):
    """`tensor.storage_offset()`."""

    base: Source

    def read(self, scope: Scope) -> object:
        return call_tensor_method(scope.value_of(self.base), "storage_offset")

    def expression(self, names: Names) -> str:
        return f"{names.source(self.base)}.storage_offset()"

    def text(self) -> str:
        return f"{self.base.text()}.storage_offset()"


@final
@dataclass(frozen=True, slots=True, eq=False)
class TensorItem(Source):
    """`tensor.item()`: the number in a tensor of one element."""

    base: Source

    def read(self, scope: Scope) -> object:
        return call_tensor_method(scope.value_of(self.base), "item")

    def expression(self, names: Names) -> str:
        return f"{names.source(self.base)}.item()"

    def text(self) -> str:
        return f"{self.base.text()}.item()"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Gradient(Source):
    """`tensor.grad`. `overridden`: the tensor's class may override the attribute; it is not asked."""

    base: Source
    overridden: bool = False

    def read(self, scope: Scope) -> object:
        return read_gradient(scope.value_of(self.base))

    def expression(self, names: Names) -> str:
        tensor = names.source(self.base)
        return (
            f"{names.constant(read_gradient, 'read_gradient')}({tensor})"
            if self.overridden
            else f"{tensor}.grad"
        )

    def text(self) -> str:
        return f"{self.base.text()}.grad"


@final
class SizesUnasked:
    """The sizes, strides and offset of a tensor, by the methods of `torch.Tensor` that its class may override."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: object) -> None:
        # not `isinstance`, which reads `__class__`: that may be user code
        if not issubclass(type(tensor), torch.Tensor):
            raise AttributeError("no tensor, so it has no sizes")  # a miss
        self._tensor = cast(torch.Tensor, tensor)

    def size(self, dim: int) -> int:
        """`torch.Tensor.size`."""
        with torch._C.DisableTorchFunction():
            return torch.Tensor.size(self._tensor, dim)

    def stride(self, dim: int) -> int:
        """`torch.Tensor.stride`."""
        with torch._C.DisableTorchFunction():
            return torch.Tensor.stride(self._tensor, dim)

    def storage_offset(self) -> int:
        """`torch.Tensor.storage_offset`."""
        with torch._C.DisableTorchFunction():
            return int(torch.Tensor.storage_offset(self._tensor))


def read_gradient(tensor: object) -> object:
    """`tensor.grad` with no override asked; AttributeError (a miss) when the value is no tensor."""
    with torch._C.DisableTorchFunction():
        return getattr(tensor, "grad")  # noqa: B009  # the type is not known here


def call_tensor_method(tensor: object, method: str, *arguments: int) -> object:
    """`tensor.method(*arguments)`; AttributeError (a miss) when the value is no tensor."""
    # Of a subclass that overrides functions the tensor is `Unasked`.
    return getattr(tensor, method)(*arguments)
