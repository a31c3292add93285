"""Undoes what in-place operations did to fake tensors.

A recorded operation that is rolled back, or that failed half-way, must leave the fakes as they were: sizes,
strides, offset and whether a gradient is required. Fakes are made in `shape_env`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import torch


@final
@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The metadata of one fake at one moment."""

    tensor: torch.Tensor
    size: torch.Size
    stride: tuple[int | torch.SymInt, ...] | None
    offset: int | torch.SymInt
    requires_grad: bool
    alias: torch.Tensor | None

    @staticmethod
    def of(tensor: torch.Tensor, keep_memory: bool = False) -> "Snapshot":
        """The present metadata. Sparse and nested layouts have no strides to remember.

        `keep_memory` for operations that give a tensor other memory (`x.data = y`, `x.set_(y)`).
        """
        strided = tensor.layout is torch.strided and not tensor.is_nested
        return Snapshot(
            tensor,
            tensor.shape,
            tensor.stride() if strided else None,
            tensor.storage_offset() if strided else 0,
            tensor.requires_grad,
            tensor.detach() if keep_memory else None,
        )

    def restore(self) -> bool:
        """Put the metadata back where the operation changed it. False if a gradient history could not be removed."""
        tensor = self.tensor
        if not self.requires_grad and tensor.requires_grad:
            _forget_history(tensor)
        if self.alias is not None:
            with torch.no_grad():
                tensor.data = self.alias
        if self.stride is not None:
            self._restore_layout(self.stride)
        return tensor.requires_grad == self.requires_grad

    def _restore_layout(self, stride: tuple[int | torch.SymInt, ...]) -> None:
        tensor = self.tensor
        if not (_same(tensor.shape, self.size) and _same(tensor.stride(), stride)):
            with torch.no_grad():
                # Where autograd sees it, the layout would become part of the history.
                tensor.as_strided_(self.size, stride, self.offset)


def _same(one: Iterable[object], other: Iterable[object]) -> bool:
    # by identity first: comparing symbols would leave a guard behind
    first, second = tuple(one), tuple(other)
    return len(first) == len(second) and all(
        left is right or (type(left) is int and type(right) is int and left == right)
        for left, right in zip(first, second, strict=True)
    )


def _forget_history(tensor: torch.Tensor) -> None:
    if tensor.grad_fn is None:
        tensor.requires_grad_(False)
    elif not tensor._is_view():  # torch cannot take the history off a view
        tensor.detach_()


def snapshots(tensors: Iterable[torch.Tensor], keep_memory: bool = False) -> list[Snapshot]:
    """One snapshot per tensor and per base of a view; a base that is added for its view comes after it."""
    found: dict[int, torch.Tensor] = {}
    for tensor in tensors:
        found.setdefault(id(tensor), tensor)
        if tensor._is_view() and tensor._base is not None:
            found.setdefault(id(tensor._base), tensor._base)
    return [Snapshot.of(tensor, keep_memory) for tensor in found.values()]


def restore(taken: Iterable[Snapshot]) -> list[torch.Tensor]:
    """Put all of them back; returns those that kept a gradient history."""
    # bases come after their views: a view may be clean as soon as its base is
    left = [snapshot for snapshot in taken if not snapshot.restore()]
    return [snapshot.tensor for snapshot in left if not snapshot.restore()]
