"""Undoing what in-place operations did to fake tensors.

A recorded operation that is rolled back, or that failed half-way, must leave the fakes as they were: sizes,
strides, offset and whether a gradient is required. Making fakes is the business of `shape_env`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import torch

from framesmith.graph.arguments import tensors_in


@final
@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The metadata of one fake at one moment."""

    tensor: torch.Tensor
    size: torch.Size
    stride: tuple[int | torch.SymInt, ...] | None
    offset: int | torch.SymInt
    requires_grad: bool
    storage: int

    @staticmethod
    def of(tensor: torch.Tensor) -> "Snapshot":
        """The metadata as it is. Sparse and nested layouts have no strides to remember."""
        strided = tensor.layout is torch.strided and not tensor.is_nested
        return Snapshot(
            tensor,
            tensor.shape,
            tensor.stride() if strided else None,
            tensor.storage_offset() if strided else 0,
            tensor.requires_grad,
            tensor.untyped_storage()._cdata if strided else 0,
        )

    def restore(self) -> None:
        """Put the metadata back, where the operation changed it."""
        tensor = self.tensor
        if not self.requires_grad and tensor.requires_grad:
            _forget_history(tensor)
        if self.stride is None:
            return
        if not (_same(tensor.shape, self.size) and _same(tensor.stride(), self.stride)):
            with torch.no_grad():
                tensor.as_strided_(self.size, self.stride, self.offset)


def _same(one: Iterable[object], other: Iterable[object]) -> bool:
    # by identity first: comparing symbols would leave a guard behind
    first, second = tuple(one), tuple(other)
    return len(first) == len(second) and all(
        left is right or (type(left) is int and type(right) is int and left == right)
        for left, right in zip(first, second, strict=True)
    )


def _forget_history(tensor: torch.Tensor) -> None:
    base = tensor._base if tensor._is_view() else None
    target = tensor if base is None else base
    if target.grad_fn is None:
        target.requires_grad_(False)
    else:
        target.detach_()


def snapshots(value: object) -> list[Snapshot]:
    """One per tensor in an example, bases of views after their views."""
    found: dict[int, torch.Tensor] = {}
    for tensor in tensors_in(value):
        found.setdefault(id(tensor), tensor)
        if tensor._is_view() and tensor._base is not None:
            found.setdefault(id(tensor._base), tensor._base)
    return [Snapshot.of(tensor) for tensor in found.values()]


def restore(taken: Iterable[Snapshot]) -> None:
    """Put all of them back."""
    for snapshot in taken:
        snapshot.restore()
