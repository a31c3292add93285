"""Nested graphs of checkpoints that draw random numbers: they run twice, and must give the same result.

Whether a graph draws any, and the operation that runs such a checkpoint.
"""

from collections.abc import Iterator, Sequence
from typing import final

import torch
import torch.utils.checkpoint
from torch import fx
from torch._higher_order_ops.wrap import tag_activation_checkpoint
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.utils._python_dispatch import TorchDispatchMode

from framesmith.graph.environment.silence import SILENCE
from framesmith.graph.nodes.arguments import tensors_in
from framesmith.graph.operations.purity import is_random
from framesmith.graph.operations.selective_checkpoint import find_contexts


def _nested_nodes(args: Sequence[object]) -> Iterator[fx.Node]:
    """The nodes of the graphs that a higher-order operator is given, and of those in them."""
    for one in args:
        for module in one.modules() if isinstance(one, fx.GraphModule) else ():
            if isinstance(module, fx.GraphModule):
                yield from module.graph.nodes


@final
class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's modes have no types
    """Watches the operators that really run: `F.dropout(x, 0.0)` draws nothing, whatever its name says."""

    drawn = False
    supports_higher_order_operators = True

    def __torch_dispatch__(
        self,
        func: torch._ops.OpOverload | torch._ops.HigherOrderOperator,
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        """Run it and note whether it draws random numbers."""
        if isinstance(func, torch._ops.HigherOrderOperator):
            # what it runs is not seen by a mode
            self.drawn = self.drawn or any(map(is_random, _nested_nodes(args)))
        elif torch.Tag.nondeterministic_seeded in func.tags and not _is_without_dropout(
            func, args, kwargs or {}
        ):
            self.drawn = True
        result: object = func(*args, **(kwargs or {}))
        return result


def _is_without_dropout(
    func: torch._ops.OpOverload, args: Sequence[object], kwargs: dict[str, object]
) -> bool:
    """Whether the operator is an attention whose `dropout_p` is 0."""
    for position, argument in enumerate(func._schema.arguments):
        if argument.name == "dropout_p":
            given = args[position] if position < len(args) else kwargs.get("dropout_p", 0.0)
            return given == 0.0
    return False


def draws_random_numbers(module: fx.GraphModule, operands: Sequence[object]) -> bool:
    """Whether the graph draws random numbers, found by running it on `operands`, which it must not change."""
    watch = _Watch()  # type: ignore[no-untyped-call]  # torch's modes have no types
    with SILENCE, watch:
        module(*operands)
    return watch.drawn


def checkpoint_with_random_numbers(module: fx.GraphModule, preserve: bool, *operands: object) -> object:
    """Run the graph of a checkpoint that draws random numbers as `torch.utils.checkpoint` does in eager: with the same numbers, and
    in the backward pass again, with those of the first run if `preserve` is set. An operation of graphs.

    Fakes have no numbers: on them the graph runs as if it stood in the place of the checkpoint. Where AOTAutograd traces it, torch's
    operator marks what is to be computed again; with what it draws AOTAutograd does as with `preserve` set.
    """
    if any(isinstance(operand, FunctionalTensor) for operand in operands):
        is_followed = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors_in(operands))
        marked: object = (tag_activation_checkpoint if is_followed else _call)(module, *operands)
        return marked
    if any(isinstance(operand, FakeTensor) for operand in operands):
        result: object = module(*operands)
        return result
    return torch.utils.checkpoint.checkpoint(
        module,
        *operands,
        use_reentrant=False,
        preserve_rng_state=preserve,
        context_fn=find_contexts(module),
    )


def _call(module: fx.GraphModule, *operands: object) -> object:
    result: object = module(*operands)
    return result


def differentiates_draws(graph: fx.Graph) -> bool:
    """Whether a closed graph has such a checkpoint and a backward pass of its own: AOTAutograd does not run both in one graph."""
    return any(graph.find_nodes(op="call_function", target=checkpoint_with_random_numbers)) and any(
        graph.find_nodes(op="call_function", target=torch.autograd.grad)
    )
