"""What a compiled graph saves for its backward pass, where the graph replaces the data of inputs (`data_stores`).

    d = p.data; y = d * q; p.data = d + 1      eager saves `d`; a compiled graph saves `p`, and computes `d` again from it
    p.data = v; y = p * q                      eager saves `p`; a compiled graph saves `v`

Eager's backward pass reads the old memory in the first case, and whatever `p` has by then in the second. So the memory of `p` is saved
as it was, and what has the memory of `v` belongs to `p`: a change of `p` that eager would notice is noticed, and new data are read.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, final

import torch
from torch.autograd.graph import saved_tensors_hooks

from framesmith.graph.fakes.execution import storage_of

_MODIFIED: Final = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: [{kind} {sizes}] is at version "
    "{version}; expected version {expected} instead. Hint: enable anomaly detection to find the operation that failed to compute its "
    "gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
)


@final
@dataclass(frozen=True, slots=True)
class Store:
    """A store behind a graph: the place of `p` among its inputs, that of `v` among its results, and what operations that may be
    differentiated read behind it: `p`, views of it, `v` itself."""

    tensor: int
    value: int
    reads_tensor: bool
    reads_views: bool
    reads_value: bool


@final
class SavedOperand:
    """One tensor that a backward pass needs: an alias of its own, or a leaf itself, whose newest data is read then. `owner`: whose data
    it was, by a store, if eager would have saved that."""

    __slots__ = ("owner", "store", "tensor", "version")

    def __init__(self, tensor: torch.Tensor, *, is_itself: bool) -> None:
        self.tensor = tensor if is_itself else tensor.detach()
        self.owner: torch.Tensor | None = None
        self.store: Store | None = None
        self.version: int | None = tensor._version

    def belong_to(self, owner: torch.Tensor, store: Store) -> None:
        """It is what the owner is from now on, or a view of it."""
        self.owner, self.store, self.version = owner, store, owner._version

    def read(self) -> torch.Tensor:
        """What eager's backward pass reads; raises the RuntimeError that eager raises for what was changed in place."""
        tensor, owner, store = self.tensor, self.owner, self.store
        asked = tensor if owner is None else owner
        if self.version is not None and asked._version != self.version:
            given = {"kind": asked.type(), "sizes": [*asked.shape], "version": asked._version}
            raise RuntimeError(_MODIFIED.format(**given, expected=self.version))
        if owner is None or store is None or storage_of(owner) == storage_of(tensor):
            return tensor
        reads_memory = store.reads_views or store.reads_value
        if reads_memory and not store.reads_tensor:
            return tensor
        if reads_memory or owner.untyped_storage().nbytes() != tensor.untyped_storage().nbytes():
            raise RuntimeError(
                f"the data of a {owner.type()} {[*owner.shape]} was replaced by the compiled function, and once more before the backward "
                "pass, which needs both: run the backward pass first"
            )
        return owner.detach().as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


@contextmanager
def save_as_eager(inputs: Sequence[object], replaced: Sequence[torch.Tensor]) -> Iterator[list[SavedOperand]]:
    """What a graph saves while the block runs, which gets its owners behind it. `replaced`: the inputs whose data it replaces.

    Nothing is done where the program has hooks of its own for what is saved, or where nothing can be saved.
    """
    saved = list[SavedOperand]()
    if not torch.is_grad_enabled() or torch._C._autograd._top_saved_tensors_default_hooks(True) is not None:
        yield saved
        return
    old: Collection[int] = {storage_of(tensor) for tensor in replaced}
    leaves = {id(value) for value in inputs if isinstance(value, torch.Tensor) and value.is_leaf}

    def pack(tensor: torch.Tensor) -> SavedOperand:
        is_old = storage_of(tensor) in old
        operand = SavedOperand(tensor, is_itself=id(tensor) in leaves and not is_old)
        if is_old:
            operand.version = None  # `p.data` has a version counter of its own in eager
        saved.append(operand)
        return operand

    with saved_tensors_hooks(pack, SavedOperand.read):
        yield saved
