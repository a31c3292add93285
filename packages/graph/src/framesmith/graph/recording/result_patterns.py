"""What a repetition has to know of the results of the operations that it repeats, found out once for all repetitions.

`fake_copies` says what a copy is. Here: which results there are, which of them share memory, and the copies for one repetition.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import torch
from torch import fx
from torch._C import _DisableTorchDispatch
from torch._subclasses.fake_tensor import FakeTensor

from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.fakes.fake_copies import CopiedResults, add_history, bytes_of, replaced
from framesmith.graph.fakes.new_fakes import META, NewFakes
from framesmith.graph.inputs.storage_offsets import StorageOffsets
from framesmith.graph.nodes.arguments import EXAMPLE, operands_of, tensors_in
from framesmith.graph.operations.purity import IMPURE, is_switch

_OWN: Final = -1
_ALL_OF_ITS_OWN: Final = -2


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Result:
    """One result. `memory`: the place of a tensor that it shares memory with, among operands and earlier results; `_OWN` for
    memory of its own, `_ALL_OF_ITS_OWN` if it fills that."""

    first: torch.Tensor
    memory: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    @staticmethod
    def of(first: torch.Tensor, memory: int | None) -> "_Result":
        """What there is to know of the first result."""
        if memory is None:
            memory = _ALL_OF_ITS_OWN if _fills_its_memory(first) else _OWN
        return _Result(first, memory, tuple(first.shape), tuple(first.stride()), first.dtype, first.device)

    def copy(self, fakes: NewFakes, made: Sequence[torch.Tensor]) -> torch.Tensor:
        """A copy, without a history, beside those that were made before. torch's dispatch to fakes is off."""
        if self.memory == _ALL_OF_ITS_OWN:
            plain = torch.empty_strided(self.shape, self.stride, dtype=self.dtype, device=META)
            return fakes.over_quietly(plain, self.device)
        if self.memory == _OWN:
            size = self.first.untyped_storage().nbytes()
            storage = torch.UntypedStorage(size, device="meta")  # type: ignore[no-untyped-call]
        else:
            storage = made[self.memory].untyped_storage()
        plain = torch.empty(0, dtype=self.dtype, device=META)
        plain.set_(storage, self.first.storage_offset(), self.shape, self.stride)
        return fakes.over_quietly(plain, self.device)


@final
class ResultPattern:
    """The results of some operations on operands, for copies of them on other operands.

    Invariant: tensors are known by their places: first those of the operands, then the results in the order of operations. It holds
    as long as the first results have the metadata that they had when it was made.
    """

    def __init__(
        self,
        nodes: Sequence[fx.Node],
        operands: Sequence[fx.Node],
        places: Mapping[int, int],
        results: Sequence[_Result],
    ) -> None:
        self._nodes = nodes
        self._operands = operands
        self._places = places
        self._results = results
        first = len(places) - len(results)
        self._with_history = [
            (one.first, first + number) for number, one in enumerate(results) if one.first.requires_grad
        ]
        self._single = [
            (node, places[id(node.meta[EXAMPLE])] if isinstance(node.meta[EXAMPLE], torch.Tensor) else None)
            for node in nodes
        ]

    @staticmethod
    def of(nodes: Sequence[fx.Node], returned: Iterable[fx.Node]) -> "ResultPattern | None":
        """The pattern, if `returned` are the values that the program goes on with. None where the operations have to be run on fakes:
        one writes, or a returned value is a view, or sizes are no numbers."""
        operands = operands_of(nodes)
        given = [tensor for node in operands for tensor in tensors_in(node.meta[EXAMPLE])]
        places = {id(tensor): place for place, tensor in enumerate(given)}
        # A tensor under two operands would have two places.
        if len(places) != len(given) or not all(map(_is_computed, nodes)):
            return None
        memories = {storage_of(tensor): place for place, tensor in enumerate(given)}
        if not _can_return(returned, memories):
            return None
        results: list[_Result] = []
        for node in nodes:
            for tensor in tensors_in(node.meta[EXAMPLE]):
                if id(tensor) in places:
                    continue
                # Copies get their history by one operation, which makes no leaf.
                if not _is_plain(tensor) or (tensor.requires_grad and tensor.is_leaf):
                    return None
                memory = storage_of(tensor)
                results.append(_Result.of(tensor, memories.get(memory)))
                places[id(tensor)] = len(places)
                memories.setdefault(memory, places[id(tensor)])
        return ResultPattern(nodes, operands, places, results)

    def copy(
        self, fakes: NewFakes, known: Mapping[fx.Node, fx.Node], keep: list[CopiedResults]
    ) -> dict[fx.Node, object] | None:
        """Results for the nodes, if they are recorded again on other operands (`known`). None if a result has a history that no
        operand gives it. What has to be kept as long as the results is added to `keep`."""
        made: list[torch.Tensor] = []
        for node in self._operands:
            value = known.get(node, node).meta[EXAMPLE]
            if isinstance(value, torch.Tensor):
                made.append(value)
            else:
                made += tensors_in(value)
        assert len(made) + len(self._results) == len(self._places), "the operands are not alike"
        # By id: one tensor may be several operands of the repetition.
        differentiable = {id(one): one for one in made if one.requires_grad} if self._with_history else {}
        with _DisableTorchDispatch():
            for one in self._results:
                made.append(one.copy(fakes, made))
        if self._with_history:
            if not differentiable:
                return None
            pairs = [(first, made[place]) for first, place in self._with_history]
            history, copies = add_history(pairs, self._nodes, known, list(differentiable.values()))
            for (_, place), copy in zip(self._with_history, copies, strict=True):
                made[place] = copy
            keep.append(history)
        return {
            node: replaced(node.meta[EXAMPLE], lambda one: made[self._places[id(one)]])
            if place is None
            else made[place]
            for node, place in self._single
        }


def _can_return(nodes: Iterable[fx.Node], operands: Mapping[int, int]) -> bool:
    """Whether these results are computed anew: none shares memory with an operand or another one."""
    returned = {id(one): one for node in nodes for one in tensors_in(node.meta[EXAMPLE])}.values()
    storages = [storage_of(one) for one in returned]
    return (
        len(set(storages)) == len(storages)
        and operands.keys().isdisjoint(storages)
        and not any(one._is_view() for one in returned)
    )


def _is_computed(node: fx.Node) -> bool:
    """Whether an operation only computes its result from its operands, or turns a switch, which another one turns back."""
    return (
        (not node.meta[IMPURE] or is_switch(node))
        and not StorageOffsets.are_read_by(node.target)
        and _holds_values(node.meta[EXAMPLE])
    )


def _holds_values(value: object) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_holds_values, value))
    return value is None or isinstance(value, torch.Tensor) or type(value) in (int, bool, float)


def _is_plain(fake: torch.Tensor) -> bool:
    return (
        type(fake) is FakeTensor
        and fake.constant is None
        and fake.layout is torch.strided
        and not (fake.is_inference() or fake.is_conj() or fake.is_neg())
        and all(type(number) is int for number in (*fake.shape, *fake.stride(), fake.storage_offset()))
    )


def _fills_its_memory(fake: torch.Tensor) -> bool:
    """Whether a plain fake has memory of its own, all of it."""
    return fake.storage_offset() == 0 and fake.untyped_storage().nbytes() == bytes_of(fake)
