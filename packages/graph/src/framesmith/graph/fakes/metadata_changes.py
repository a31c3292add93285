"""Which fakes an operation gave other metadata: sizes or strides, memory, a history (`x.t_()`, `buffer[0] = weight`).

A call of a module is repeated from what its fakes show at that moment (`repetition`), which must be what they showed when it
was recorded.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple, final

import torch

from framesmith.graph.fakes.execution import storage_of


@final
class TensorMetadata(NamedTuple):
    """What an operation may change of a tensor, besides its content."""

    memory: int
    requires_grad: bool
    is_leaf: bool | None
    numbers: tuple[object, ...]


def metadata_of(tensor: torch.Tensor) -> TensorMetadata:
    """The present metadata."""
    strided = tensor.layout is torch.strided and not tensor.is_nested
    numbers = (*tensor.shape, *tensor.stride(), tensor.storage_offset()) if strided else ()
    return TensorMetadata(storage_of(tensor), tensor.requires_grad, _is_leaf(tensor), numbers)


def _is_leaf(tensor: torch.Tensor) -> bool | None:
    """None for a view that was made under `no_grad` and whose memory was changed in place since: autograd refuses to say."""
    try:
        return tensor.is_leaf
    except RuntimeError:
        return None


@final
@dataclass(slots=True)
class MetadataChanges:
    """The changes so far, in order. Tensors are known by their memory: views of one another change together.

    Invariant: `count` grows with each change; `inputs` is what it was after the last change of an existing tensor.
    """

    count: int
    inputs: int
    _last: dict[int, int]

    @staticmethod
    def none() -> "MetadataChanges":
        """No change so far."""
        return MetadataChanges(0, 0, {})

    def note(
        self,
        tensors: Sequence[torch.Tensor],
        before: Sequence[TensorMetadata] | None,
        inputs: Set[int] = frozenset(),
    ) -> None:
        """An operation has written to some of these tensors; `before` it this was theirs, None if nobody asked.
        `inputs`: the memory of existing tensors."""
        for place, tensor in enumerate(tensors):
            now = metadata_of(tensor)
            if before is None or not _same(before[place], now):
                self.count += 1
                self._last[now.memory] = self.count
                if now.memory in inputs:
                    self.inputs = self.count
                # Views of the memory that the tensor had are concerned as well (`x.data = y`).
                if before is not None:
                    self._last[before[place].memory] = self.count
                    if before[place].memory in inputs:
                        self.inputs = self.count

    def concern(self, tensors: Iterable[torch.Tensor], since: int) -> bool:
        """Whether one of these tensors has changed since the count was this number."""
        return self.count != since and any(self._last.get(storage_of(one), 0) > since for one in tensors)


def _same(one: TensorMetadata, other: TensorMetadata) -> bool:
    return (
        one[:3] == other[:3]
        and len(one.numbers) == len(other.numbers)
        and all(map(same_number, one.numbers, other.numbers))
    )


def same_number(one: object, other: object) -> bool:
    """Whether two sizes are the same number or expression; nothing is decided."""
    # Comparing a number with a symbol would be a decision, and leave a guard.
    if type(one) is int or type(other) is int:
        return type(one) is type(other) and one == other
    if isinstance(one, torch.SymInt) and isinstance(other, torch.SymInt):
        return one is other or bool(one.node.expr == other.node.expr)
    return False
