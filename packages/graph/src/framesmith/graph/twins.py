"""Fakes of the results of operations that are recorded once more, without running them: copies of the first results.

The operations and the metadata of their operands are the same, so those of the results are. Copies share memory with each
other and with the operands as the first results do. One that requires a gradient has a history, so it is no leaf.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import fx
from torch._C import _DisableTorchDispatch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from framesmith.graph.arguments import EXAMPLE, tensors_in
from framesmith.graph.execution import storage_of
from framesmith.graph.purity import IMPURE, is_switch
from framesmith.graph.storage_offsets import StorageOffsets


@final
class _History(torch.autograd.Function):
    """Gives new tensors a history, as an operation does that autograd records."""

    @staticmethod
    def forward(
        ctx: Any, anchor: torch.Tensor, made: "_NewTensors"
    ) -> tuple[torch.Tensor, ...]:  # torch's own context
        return made.tensors


@final
@dataclass(frozen=True, slots=True, eq=False)
class _NewTensors:
    """New tensors, hidden from autograd, which would take them for operands."""

    tensors: tuple[torch.Tensor, ...]


def copy_results(
    mode: FakeTensorMode,
    nodes: Sequence[fx.Node],
    known: Mapping[fx.Node, fx.Node],
    returned: Iterable[fx.Node],
) -> dict[fx.Node, object] | None:
    """Results for the nodes, if they are recorded again on other operands (`known`); `returned` are those that the program
    goes on with. None where the operations have to be run on fakes: one writes, or a returned value is a view, or sizes are
    no numbers."""
    operands = [(first, other) for node, copy in known.items() for first, other in _pairs(node, copy)]
    copies = _Copies(mode, operands)
    if not all(map(_is_computed, nodes)) or not copies.can_return(returned):
        return None
    found = dict.fromkeys(nodes)
    results: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    for node in found:
        for tensor in tensors_in(node.meta[EXAMPLE]):
            if id(tensor) not in results and not copies.has(tensor):
                if not _is_plain(tensor) or (tensor.requires_grad and tensor.is_leaf):
                    return None
                results[id(tensor)] = tensor, copies.make(tensor)
    with_history = [pair for pair in results.values() if pair[0].requires_grad]
    if with_history and not copies.add_history(with_history):
        return None
    return {node: _replaced(node.meta[EXAMPLE], copies.of) for node in found}


def is_like_new(fake: torch.Tensor) -> bool:
    """Whether a fake has memory of its own, all of it, with sizes that are numbers."""
    return (
        _is_plain(fake) and fake.storage_offset() == 0 and fake.untyped_storage().nbytes() == _bytes_of(fake)
    )


def is_plain_input(value: torch.Tensor) -> bool:
    """Whether an existing tensor is an ordinary leaf with memory of its own, all of it, and without a gradient so far: its fake
    shows its metadata and no more. A number (no dimensions) is none: its fake may hold its value."""
    if type(value) is not torch.Tensor and type(value) is not torch.nn.Parameter:
        return False
    return not (
        value.dim() == 0
        or value.layout is not torch.strided
        or value.device.type == "meta"
        or value._is_view()
        or not value.is_leaf
        or value.storage_offset() != 0
        or value.untyped_storage().nbytes() != _bytes_of(value)
        or value.is_inference()
        or value.is_conj()
        or value.is_neg()
        or value.is_quantized
        or torch._C._functorch.is_functorch_wrapped_tensor(value)
        or torch.is_inference_mode_enabled()
        or value.grad is not None
        or (value.requires_grad and value.grad_dtype != value.dtype)
    )


def new_fake(mode: FakeTensorMode, like: torch.Tensor, requires_grad: bool) -> torch.Tensor:
    """A fake with the metadata of another one, which is like new. It is a leaf."""
    with _DisableTorchDispatch():
        plain = torch.empty_strided(like.shape, like.stride(), dtype=like.dtype, device="meta")
        return FakeTensor(mode, plain, like.device, requires_grad=requires_grad)


@final
class _Copies:
    """Copies of fakes, by the first one. Invariant: those that share memory share a storage."""

    def __init__(self, mode: FakeTensorMode, operands: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> None:
        self._mode = mode
        self._copies: dict[int, torch.Tensor] = {}
        self._storages: dict[int, torch.UntypedStorage] = {}
        self._anchor: torch.Tensor | None = None
        for first, other in operands:
            self._copies[id(first)] = other
            self._storages[storage_of(first)] = other.untyped_storage()
            if other.requires_grad and self._anchor is None:
                self._anchor = other

    def has(self, tensor: torch.Tensor) -> bool:
        """Whether there is a copy: the tensor is an operand, or met before."""
        return id(tensor) in self._copies

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The copy."""
        return self._copies[id(tensor)]

    def can_return(self, nodes: Iterable[fx.Node]) -> bool:
        """Whether these results are computed anew: none shares memory with an operand or another one."""
        returned = {id(one): one for node in nodes for one in tensors_in(node.meta[EXAMPLE])}.values()
        storages = [storage_of(one) for one in returned]
        return (
            len(set(storages)) == len(storages)
            and self._storages.keys().isdisjoint(storages)
            and not any(one._is_view() for one in returned)
        )

    def make(self, tensor: torch.Tensor) -> torch.Tensor:
        """A new copy, which is a leaf that requires no gradient."""
        place = storage_of(tensor)
        storage = self._storages.get(place)
        if storage is None and is_like_new(tensor):
            copy = new_fake(self._mode, tensor, requires_grad=False)
        else:
            with _DisableTorchDispatch():
                if storage is None:
                    storage = torch.UntypedStorage(tensor.untyped_storage().nbytes(), device="meta")  # type: ignore[no-untyped-call]
                plain = torch.empty(0, dtype=tensor.dtype, device="meta")
                plain.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())
                copy = FakeTensor(self._mode, plain, tensor.device)
        self._storages[place] = copy.untyped_storage()
        self._copies[id(tensor)] = copy
        return copy

    def add_history(self, pairs: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> bool:
        """Make these copies results of an operation on the operands. False if no operand requires a gradient."""
        if self._anchor is None:
            return False
        with torch.enable_grad():
            made = _History.apply(self._anchor, _NewTensors(tuple(copy for _, copy in pairs)))  # type: ignore[no-untyped-call]
        self._copies.update((id(first), copy) for (first, _), copy in zip(pairs, made, strict=True))
        return True


def _pairs(node: fx.Node, copy: fx.Node) -> Iterable[tuple[torch.Tensor, torch.Tensor]]:
    return zip(tensors_in(node.meta[EXAMPLE]), tensors_in(copy.meta[EXAMPLE]), strict=True)


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


def _bytes_of(fake: torch.Tensor) -> int:
    if 0 in fake.shape:
        return 0
    span = sum((size - 1) * stride for size, stride in zip(fake.shape, fake.stride(), strict=True))
    return (span + 1) * fake.element_size()


def _replaced(value: object, copy_of: Callable[[torch.Tensor], torch.Tensor]) -> object:
    if isinstance(value, torch.Tensor):
        return copy_of(value)
    if isinstance(value, tuple):
        parts = (_replaced(item, copy_of) for item in value)
        return (
            tuple(parts) if type(value) is tuple else type(value)(parts)
        )  # a struct sequence, as `max` gives
    if isinstance(value, list):
        return [_replaced(item, copy_of) for item in value]
    return value
