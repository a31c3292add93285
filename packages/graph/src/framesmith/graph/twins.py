"""Fakes of the results of operations that are recorded once more, without running them: copies of the first results.

The operations and the metadata of their operands are the same, so those of the results are. Copies share memory with each
other and with the operands as the first results do. One that requires a gradient has a history, so it is no leaf.
"""

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, final

import torch
from torch import fx
from torch._C import _DisableTorchDispatch
from torch._subclasses.fake_tensor import FakeTensor

from framesmith.graph.ambient import Ambient
from framesmith.graph.arguments import EXAMPLE, operands_of, tensors_in
from framesmith.graph.execution import storage_of
from framesmith.graph.new_fakes import NewFakes
from framesmith.graph.purity import IMPURE, is_switch
from framesmith.graph.storage_offsets import StorageOffsets
from framesmith.guards.plain_tensors import PLAIN_TENSORS


@final
class _History(torch.autograd.Function):
    """Gives new tensors a history, as an operation does that autograd records."""

    @staticmethod
    def forward(
        ctx: Any, made: "CopiedResults", *operands: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:  # torch's own context
        # a weak reference: autograd's nodes are no concern of the garbage collector
        ctx.made = weakref.ref(made)
        ctx.save_for_backward(*operands)
        ctx.set_materialize_grads(False)
        return made.take_tensors()

    @staticmethod
    def backward(
        ctx: Any, *gradients: torch.Tensor | None
    ) -> tuple[torch.Tensor | None, ...]:  # torch's own context
        operands = ctx.saved_tensors  # raises for a history that was used up
        made = ctx.made()
        assert made is not None, "the recording that made the fakes has ended"
        found: Sequence[torch.Tensor | None] = made.differentiate(operands, gradients)
        return None, *found


@final
class CopiedResults:
    """The new tensors of one repetition that have a history, and how a backward pass differentiates it.

    Only then are the operations run on fakes, on operands that stand for those of the repetition. To be kept as long as the
    fakes.
    """

    def __init__(
        self,
        nodes: Sequence[fx.Node],
        known: Mapping[fx.Node, fx.Node],
        operands: Sequence[torch.Tensor],
        pairs: Sequence[tuple[torch.Tensor, torch.Tensor]],
    ) -> None:
        self._nodes = nodes
        self._known = known
        self._operands = [id(operand) for operand in operands]
        self._results = [id(first) for first, _ in pairs]
        self._tensors = tuple(copy for _, copy in pairs)
        self._ambient = Ambient.now()

    def take_tensors(self) -> tuple[torch.Tensor, ...]:
        """The new tensors, hidden from autograd, which would take them for operands. They are handed over."""
        taken, self._tensors = self._tensors, ()
        return taken

    def differentiate(
        self, operands: Sequence[torch.Tensor], gradients: Sequence[torch.Tensor | None]
    ) -> Sequence[torch.Tensor | None]:
        """The gradients of the operands for those of the results; None for an operand without one."""
        now = Ambient.now()
        with torch.enable_grad():
            inner = [operand.view_as(operand) for operand in operands]
        self._ambient.restore()
        try:
            found = self._run(dict(zip(self._operands, inner, strict=True)))
        finally:
            now.restore()
        pairs = [
            (found[result], gradient)
            for result, gradient in zip(self._results, gradients, strict=True)
            if gradient is not None
        ]
        outputs, given = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        return torch.autograd.grad(outputs, inner, given, create_graph=now.grad, allow_unused=True)

    def _run(self, replacements: Mapping[int, torch.Tensor]) -> dict[int, torch.Tensor]:
        """Run the operations; what they compute, by the `id` of the first result that it repeats."""
        values: dict[fx.Node, Any] = {}  # of any type, as fx's arguments

        def value_of(node: fx.Node) -> Any:
            if node not in values:
                known = self._known.get(node, node)
                values[node] = _replaced(known.meta[EXAMPLE], lambda one: replacements.get(id(one), one))
            return values[node]

        found: dict[int, torch.Tensor] = {}
        for node in self._nodes:
            args, kwargs = fx.node.map_arg((node.args, node.kwargs), value_of)
            target: Any = node.target
            if node.op == "call_method":
                target, args = getattr(args[0], target), args[1:]
            values[node] = target(*args, **kwargs)
            found.update(zip(map(id, tensors_in(node.meta[EXAMPLE])), tensors_in(values[node]), strict=True))
        return found


def copy_results(
    fakes: NewFakes,
    nodes: Sequence[fx.Node],
    known: Mapping[fx.Node, fx.Node],
    returned: Iterable[fx.Node],
    keep: list[CopiedResults],
) -> dict[fx.Node, object] | None:
    """Results for the nodes, if they are recorded again on other operands (`known`); `returned` are those that the program
    goes on with. None where the operations have to be run on fakes: one writes, or a returned value is a view, or sizes are
    no numbers. What has to be kept as long as the results is added to `keep`."""
    operands = [  # also those that stay the same, as parameters of a module that is called twice
        pair for node in operands_of(nodes) for pair in _pairs(node, known.get(node, node))
    ]
    copies = _Copies(fakes, operands)
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
    if with_history:
        made = copies.add_history(with_history, nodes, known)
        if made is None:
            return None
        keep.append(made)
    return {node: _replaced(node.meta[EXAMPLE], copies.of) for node in found}


def is_plain_input(value: torch.Tensor) -> bool:
    """Whether an existing tensor is an ordinary leaf with memory of its own, all of it, and without a gradient so far: its fake
    shows its metadata and no more. A number (no dimensions) is none: its fake may hold its value."""
    if type(value) not in PLAIN_TENSORS:
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


def gradient_apart(value: torch.Tensor) -> torch.Tensor | None:
    """The gradient of an existing leaf, if only one of the two is a view (of a flat buffer, say), or they are views of tensors with
    other dimensions. torch would give the gradient's fake sizes that may change, so its fake is made first, as its leaf's is."""
    if type(value) not in PLAIN_TENSORS or not value.is_leaf or value.grad is None:
        return None
    bases = [one._base if one._is_view() else None for one in (value, value.grad)]
    dims = [None if base is None else base.dim() for base in bases]
    return None if dims[0] == dims[1] else value.grad


@final
class _Copies:
    """Copies of fakes, by the first one. Invariant: those that share memory share a storage."""

    def __init__(self, fakes: NewFakes, operands: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> None:
        self._fakes = fakes
        self._copies: dict[int, torch.Tensor] = {}
        self._storages: dict[int, torch.UntypedStorage] = {}
        self._differentiable: dict[int, torch.Tensor] = {}
        for first, other in operands:
            self._copies[id(first)] = other
            self._storages[storage_of(first)] = other.untyped_storage()
            if other.requires_grad:
                self._differentiable[id(other)] = other

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
        """A new copy of a plain fake, which is a leaf that requires no gradient."""
        place = storage_of(tensor)
        storage = self._storages.get(place)
        if storage is None and _fills_its_memory(tensor):
            copy = self._fakes.like(tensor)
        else:
            with _DisableTorchDispatch():
                if storage is None:
                    storage = torch.UntypedStorage(tensor.untyped_storage().nbytes(), device="meta")  # type: ignore[no-untyped-call]
                plain = torch.empty(0, dtype=tensor.dtype, device="meta")
                plain.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())
            copy = self._fakes.over(plain, tensor.device)
        self._storages[place] = copy.untyped_storage()
        self._copies[id(tensor)] = copy
        return copy

    def add_history(
        self,
        pairs: Sequence[tuple[torch.Tensor, torch.Tensor]],
        nodes: Sequence[fx.Node],
        known: Mapping[fx.Node, fx.Node],
    ) -> CopiedResults | None:
        """Make these copies results of an operation on the operands. None if no operand requires a gradient."""
        operands = list(self._differentiable.values())
        if not operands:
            return None
        results = CopiedResults(nodes, known, operands, pairs)
        with torch.enable_grad():
            made = _History.apply(results, *operands)  # type: ignore[no-untyped-call]
        self._copies.update((id(first), copy) for (first, _), copy in zip(pairs, made, strict=True))
        return results


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


def _fills_its_memory(fake: torch.Tensor) -> bool:
    """Whether a plain fake has memory of its own, all of it."""
    return fake.storage_offset() == 0 and fake.untyped_storage().nbytes() == _bytes_of(fake)


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
