"""Storage offsets of inputs: guarded only where the trace read one.

Nearly no program does, and a guard on each tensor of each call would cost more than it is worth. Reading the offset of
a view reads that of its input: both share one storage, also among fakes. So does comparing addresses, which asks besides
whether several inputs share it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, final

import torch

from framesmith.graph.inputs.inputs import Input
from framesmith.guards.kinds.shapes import ShapeExpression
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.tensors import TensorStorageOffset

# The layout of their result depends on the offset of their operand; a backend may write the number into its code.
_READERS: Final[tuple[object, ...]] = (
    "as_strided",
    "as_strided_",
    "as_strided_scatter",
    torch.as_strided,
    torch.as_strided_,
    torch.as_strided_copy,
    torch.as_strided_scatter,
)


@final
class StorageOffsets:
    """The inputs whose offset was read, each with the offset as a number or a symbol."""

    def __init__(self) -> None:
        self._read: dict[Source, object] = {}
        self.requests = 0  # how often offsets were read

    @staticmethod
    def are_read_by(target: object) -> bool:
        """Whether the result of an operation depends on offsets."""
        return target in _READERS

    def read(self, memories: Iterable[torch.UntypedStorage], inputs: Iterable[Input]) -> Sequence[Source]:
        """Note that the trace read offsets in the storages of fakes; gives the inputs that came with these, which are to be guarded."""
        self.requests += 1
        wanted = {memory._cdata for memory in memories}
        # What the input came with: an operation may have changed the fake since.
        found = [entry for entry in inputs if entry.memory is not None and entry.memory._cdata in wanted]
        self._read.update((entry.source, entry.layout[2]) for entry in found if entry.layout is not None)
        return [entry.source for entry in found]

    def guards(self) -> Iterator[ShapeExpression]:
        """One relation for each offset that is a number; symbols have their own relations."""
        for source, offset in self._read.items():
            if type(offset) is int:
                yield ShapeExpression(f"{{0}} == {offset}", (TensorStorageOffset(source),))
