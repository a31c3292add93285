"""What a compiled graph saves for its backward pass, where the graph replaces the data of inputs (`data_stores`).

    d = p.data; y = d * q; p.data = d + 1      eager saves `d`; a compiled graph saves `p`, and computes `d` again from it
    p.data = v; y = p * q                      eager saves `p`; a compiled graph saves `v`

Eager's backward pass reads the old memory in the first case, and whatever `p` has by then in the second. So the memory of `p` is saved
as it was, and what has the memory of `v` has `p` as its owner: the tensor of the program by which it is known whether a change in place is
an error, and whose newest data is read if eager saved the tensor itself. Inputs are owners of what is saved of their memory, too.

Nothing of this is done where the program has hooks of its own for saved tensors: these get what the compiled graph saves.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Flag, auto
from typing import Final, TypeAlias, final

import torch
from torch.autograd.graph import saved_tensors_hooks

from framesmith.graph.fakes.execution import storage_of

_Layout: TypeAlias = tuple[Sequence[int], Sequence[int], object]
"""Sizes, strides and offset."""
_MODIFIED: Final = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: [{kind} {sizes}] is at version "
    "{version}; expected version {expected} instead. Hint: enable anomaly detection to find the operation that failed to compute its "
    "gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
)


class Reads(Flag):
    """What eager saves of `p` for a backward pass behind `p.data = v`: `p` itself, which may get other data; views of it, which keep their
    memory and are counted with it; `v`, or views of that."""

    TENSOR = auto()
    RESULTS = auto()
    VIEWS = auto()
    VALUE = auto()


@final
@dataclass(frozen=True, slots=True)
class Store:
    """A store behind a graph: the place of `p` among its inputs, that of `v` among its results, and what eager saves of them."""

    tensor: int
    value: int
    reads: Reads


@final
class Owner:
    """A tensor that a program knows, and that other data may be given to: eager may have saved it, where a graph saved its memory."""

    def __init__(self, tensor: torch.Tensor, reads: Reads) -> None:
        self.tensor, self.reads, self.memory = tensor, reads, storage_of(tensor)
        self._version, self._layout = tensor._version, _layout_of(tensor)
        # while it is held, no other memory has its identity
        self._storage = tensor.untyped_storage() if self.memory else None

    def check(self) -> None:
        """Raises the RuntimeError that eager raises for what was changed in place."""
        check_version(self.tensor, self._version)

    def is_replaced(self) -> bool:
        """Whether eager's backward pass reads newer data."""
        now = storage_of(self.tensor), _layout_of(self.tensor)
        return Reads.TENSOR in self.reads and now != (self.memory, self._layout)

    def newest(self, saved: torch.Tensor) -> torch.Tensor:
        """What it has by now, with its dimensions in the order of what was saved; raises RuntimeError where the old data are needed, too."""
        order = _order_of(_layout_of(saved), self._layout)
        if self.reads is not Reads.TENSOR or order is None or self.tensor.shape != self._layout[0]:
            raise self.error()
        return self.tensor.detach().permute(*order)

    def error(self) -> RuntimeError:
        """Says that the backward pass comes too late."""
        return RuntimeError(
            f"the data of a {self.tensor.type()} {[*self.tensor.shape]} was replaced between a compiled function that stores data and its "
            "backward pass, which would mix the old and the new: run the backward pass first"
        )


def _layout_of(tensor: torch.Tensor) -> _Layout:
    return tensor.shape, tensor.stride(), tensor.storage_offset()


def _order_of(one: _Layout, other: _Layout) -> Sequence[int] | None:
    """Which dimensions of the other layout those of this one are; None if it is no permutation of it."""
    left = list(zip(other[0], other[1], range(len(other[0])), strict=True))
    order = list[int]()
    for size, stride in zip(one[0], one[1], strict=True):
        found = next((dim for dim in left if dim[:2] == (size, stride)), None)
        if found is None:
            return None
        left.remove(found)
        order.append(found[2])
    return None if left or one[2] != other[2] else order


@final
class SavedOperand:
    """One tensor that a backward pass needs, as an alias of its own. `source`: the input of the graph that it is,
    if it is one. `owners`: whose memory it is; and if `is_derived`, what it is computed from again in the backward pass."""

    __slots__ = ("is_derived", "owners", "source", "tensor", "version")

    def __init__(self, tensor: torch.Tensor, *, is_input: bool) -> None:
        self.tensor = tensor.detach()
        self.source = tensor if is_input else None
        self.owners: list[Owner] = []
        self.is_derived = False
        self.version: int | None = tensor._version

    def read(self) -> torch.Tensor:
        """What eager's backward pass reads; raises RuntimeError for what was changed in place, or would be needed with old and new data."""
        if self.version is not None:
            check_version(self.tensor, self.version)
        for owner in self.owners:
            owner.check()
        replaced = [owner for owner in self.owners if owner.is_replaced()]
        if not replaced:
            return self.tensor
        if self.is_derived or len(self.owners) > 1:
            raise replaced[0].error()
        return replaced[0].newest(self.tensor)


def check_version(tensor: torch.Tensor, expected: int) -> None:
    """Raises the RuntimeError that eager's backward pass raises where a tensor that was saved was changed in place since."""
    if tensor._version != expected:
        given = {"kind": tensor.type(), "sizes": [*tensor.shape], "version": tensor._version}
        raise RuntimeError(_MODIFIED.format(**given, expected=expected))


@final
class SavedOperands:
    """All that one call of a graph saves."""

    def __init__(self, inputs: Sequence[object], replaced: Collection[int]) -> None:
        # what was made in inference mode is never saved, and not counted
        self._inputs = [
            value if isinstance(value, torch.Tensor) and not value.is_inference() else None
            for value in inputs
        ]
        self._replaced = replaced
        self._ids = {id(tensor) for tensor in self._inputs}
        self._versions = [0 if tensor is None else tensor._version for tensor in self._inputs]
        self._old = {storage_of(tensor) for place in replaced if (tensor := self._inputs[place]) is not None}
        self._all: list[SavedOperand] = []

    def pack(self, tensor: torch.Tensor) -> SavedOperand:
        """Hold what is saved; if it is the old memory of an input, then without a version: `p.data` has one of its own in eager."""
        operand = SavedOperand(tensor, is_input=id(tensor) in self._ids)
        if storage_of(tensor) in self._old:
            operand.version = None
        self._all.append(operand)
        return operand

    def give_inputs(self, reads: Sequence[Reads]) -> None:
        """Say whose memory was saved, behind the call and before its stores. `reads`: what eager saves of each input, as it was."""
        for place, tensor in enumerate(self._inputs):
            if tensor is not None and place not in self._replaced:
                is_written = tensor._version != self._versions[place]
                self._give(Owner(tensor, reads[place]), can_derive=not is_written)

    def give_value(self, store: Store, tensor: torch.Tensor) -> None:
        """Say the same of the value of a store, which a tensor has just got. Of what eager has not saved a copy is held, which nothing
        changes."""
        memory = storage_of(tensor)
        for one in self._all:
            if not store.reads and one.source is None and storage_of(one.tensor) == memory:
                one.tensor, one.version = one.tensor.clone(), None
        if store.reads & (Reads.TENSOR | Reads.VIEWS):
            self._give(Owner(tensor, store.reads), can_derive=True)

    def _give(self, owner: Owner, *, can_derive: bool) -> None:
        """What has the memory of an owner belongs to it, or, if nothing has it and eager has saved it, all that is computed from it."""
        own = [
            one
            for one in self._all
            if one.source is owner.tensor or (one.source is None and storage_of(one.tensor) == owner.memory)
        ]
        for one in own:
            one.owners.append(owner)
            if one.source is None and Reads.VALUE not in owner.reads:
                one.version = None
        if not own and can_derive and owner.reads & (Reads.TENSOR | Reads.VIEWS):
            for one in self._all:
                one.owners.append(owner)
                one.is_derived = True


@contextmanager
def save_as_eager(
    inputs: Sequence[object], replaced: Collection[int], saves: bool
) -> Iterator[SavedOperands]:
    """What a graph saves while the block runs, which gets its owners behind it. `replaced`: the places of the inputs whose data it replaces.

    Nothing is done where the program has hooks of its own for what is saved, or where nothing is (`saves`).
    """
    saved = SavedOperands(inputs, replaced)
    if not saves or torch._C._autograd._top_saved_tensors_default_hooks(True) is not None:
        yield saved
        return
    with saved_tensors_hooks(saved.pack, SavedOperand.read):
        yield saved
