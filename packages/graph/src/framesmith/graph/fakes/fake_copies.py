"""What copies of fakes are: of the results of operations that are recorded once more, without running them (`result_patterns`).

The operations and the metadata of their operands are the same, so those of the results are. Copies share memory with each
other and with the operands as the first results do. One that requires a gradient has a history, so it is no leaf.
"""

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

import torch
from torch import fx

from framesmith.graph.environment.ambient import Ambient
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.guards.plain_tensors import PLAIN_TENSORS

_PLAIN_FORMS: Final[dict[int, bool]] = {}
"""By dispatch keys, see `_has_plain_form`."""


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
        # A result without a gradient is left out in `differentiate`.
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
        # with their arguments: those of a node are gone once the finished graph does without it
        self._nodes = [(node, node.args, node.kwargs) for node in nodes]
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
            # New tensors, so that the gradients are those of these operations alone and not of what made the operands.
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
                values[node] = replaced(known.meta[EXAMPLE], lambda one: replacements.get(id(one), one))
            return values[node]

        found: dict[int, torch.Tensor] = {}
        for node, given, keywords in self._nodes:
            args, kwargs = fx.node.map_arg((given, keywords), value_of)
            target: Any = node.target
            if node.op == "call_method":
                target, args = getattr(args[0], target), args[1:]
            values[node] = target(*args, **kwargs)
            found.update(zip(map(id, tensors_in(node.meta[EXAMPLE])), tensors_in(values[node]), strict=True))
        return found


def add_history(
    pairs: Sequence[tuple[torch.Tensor, torch.Tensor]],
    nodes: Sequence[fx.Node],
    known: Mapping[fx.Node, fx.Node],
    operands: Sequence[torch.Tensor],
) -> tuple[CopiedResults, Sequence[torch.Tensor]]:
    """Make these copies (after the first result of each) results of an operation on the operands, which require a gradient: what
    has to be kept as long as the new tensors, and these."""
    results = CopiedResults(nodes, known, operands, pairs)
    with torch.enable_grad():
        made: Sequence[torch.Tensor] = _History.apply(results, *operands)  # type: ignore[no-untyped-call]
    return results, made


def memory_of_plain_input(value: torch.Tensor) -> torch.UntypedStorage | None:
    """The memory of an existing tensor, if that is an ordinary leaf with memory of its own, all of it, and without a gradient so far:
    its fake shows its metadata and no more. A number (no dimensions) is none: its fake may hold its value."""
    if (
        type(value) not in PLAIN_TENSORS
        or value.dim() == 0
        or not _has_plain_form(value)
        or value._is_view()
        or not value.is_leaf
        or value.storage_offset() != 0
        or torch.is_inference_mode_enabled()
        or value.grad is not None
        or (value.requires_grad and value.grad_dtype != value.dtype)
    ):
        return None
    memory = value.untyped_storage()
    # A contiguous tensor, as nearly all are, needs no walk over its strides.
    filled = value.numel() * value.element_size() if value.is_contiguous() else bytes_of(value)
    return memory if memory.nbytes() == filled else None


def _has_plain_form(value: torch.Tensor) -> bool:
    """Whether a tensor has strides and memory, and its numbers are what its memory says. Its dispatch keys say all of it, so each
    combination is looked at once."""
    keys = torch._C._dispatch_keys(value).raw_repr()
    found = _PLAIN_FORMS.get(keys)
    if found is None:
        found = _PLAIN_FORMS[keys] = not (
            value.layout is not torch.strided
            or value.device.type == "meta"
            or value.is_inference()
            or value.is_conj()
            or value.is_neg()
            or value.is_quantized
            or torch._C._functorch.is_functorch_wrapped_tensor(value)
        )
    return found


def gradient_apart(value: torch.Tensor) -> torch.Tensor | None:
    """The gradient of an existing leaf, if only one of the two is a view (of a flat buffer, say), or they are views of tensors with
    other dimensions. torch would give the gradient's fake sizes that may change, so its fake is made first, as its leaf's is.
    So is that of a former view."""
    # In this order: reading `grad` of a tensor that is no leaf warns.
    if type(value) not in PLAIN_TENSORS or not value.is_leaf or value.grad is None:
        return None
    bases = [one._base if one._is_view() else None for one in (value, value.grad)]
    dims = [None if base is None else base.dim() for base in bases]
    return None if dims[0] == dims[1] and not is_former_view(value.grad) else value.grad


def is_former_view(value: torch.Tensor) -> bool:
    """Whether a tensor, to torch a view, was given another memory than that of its base, as `module.double()` does with gradients
    by `gradient.data = ...`."""
    if type(value) is not torch.Tensor or not value._is_view():  # no subclass is asked
        return False
    base = value._base
    return (
        base is not None
        and base.layout is value.layout is torch.strided
        and (base.untyped_storage()._cdata != value.untyped_storage()._cdata)
    )


def bytes_of(fake: torch.Tensor) -> int:
    """How many bytes the memory has that a tensor with these sizes and strides fills, from its start."""
    if 0 in fake.shape:
        return 0
    span = sum((size - 1) * stride for size, stride in zip(fake.shape, fake.stride(), strict=True))
    return (span + 1) * fake.element_size()


def replaced(value: object, copy_of: Callable[[torch.Tensor], torch.Tensor]) -> object:
    """A result with copies in place of its tensors."""
    if isinstance(value, torch.Tensor):
        return copy_of(value)
    if isinstance(value, tuple):
        parts = (replaced(item, copy_of) for item in value)
        return (
            tuple(parts) if type(value) is tuple else type(value)(parts)
        )  # a struct sequence, as `max` gives
    if isinstance(value, list):
        return [replaced(item, copy_of) for item in value]
    return value
