"""Selective checkpoints: what the policy of the program decided for each operator, repeated wherever the graph runs.

The policy itself is Python code of the program, which the trace has executed. Where another operator runs than was asked
about (another device takes another kernel), its result is computed again: a policy decides about memory, never about values.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, final

import torch
import torch.utils.checkpoint
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

from framesmith.graph.environment.silence import SILENCE

Decision = tuple[object, CheckpointPolicy]
"""An operator of torch's dispatcher, and whether its result is kept."""

Question = tuple[object, int, tuple[str, ...]]
"""What a policy is asked: the operator, the number of its positional operands, and the names of the others."""

Contexts = Callable[[], tuple[AbstractContextManager[object], AbstractContextManager[object]]]

CONTEXTS: Final = "_checkpoint_context_fn"
"""The key in `meta` of a nested graph under which torch's own operator for checkpoints looks for a `context_fn`."""


@final
class _Repeated:
    """A policy that gives the decisions again, in their order for each operator."""

    def __init__(self, decisions: Sequence[Decision]) -> None:
        self._left: dict[object, deque[CheckpointPolicy]] = defaultdict(deque)
        for operator, decision in decisions:
            self._left[operator].append(decision)

    def __call__(
        self, context: object, operator: object, *args: object, **kwargs: object
    ) -> CheckpointPolicy:
        """The next decision about this operator."""
        left = self._left[operator]
        return left.popleft() if left else CheckpointPolicy.PREFER_RECOMPUTE


def find_questions(module: fx.GraphModule, operands: Sequence[object]) -> list[Question]:
    """What torch would ask the policy, found by running the graph on `operands`, which it must not change.

    Nothing without gradients: then the checkpointed function simply runs.
    """
    found = list[Question]()
    if not torch.is_grad_enabled():
        return found

    def note(context: object, operator: object, *args: object, **kwargs: object) -> CheckpointPolicy:
        found.append((operator, len(args), tuple(kwargs)))
        return CheckpointPolicy.PREFER_RECOMPUTE

    forward, _ = create_selective_checkpoint_contexts(note)  # type: ignore[no-untyped-call]  # no types in torch
    with SILENCE, forward:
        module(*operands)
    return found


def set_decisions(module: fx.GraphModule, decisions: Sequence[Decision], *, allows_mutation: bool) -> None:
    """Attach the decisions to the nested graph of a checkpoint. `allows_mutation`: what is kept may be changed."""
    module.meta[CONTEXTS] = partial(_make_contexts, tuple(decisions), allows_mutation)


def _make_contexts(decisions: Sequence[Decision], allows_mutation: bool) -> object:
    made: object = create_selective_checkpoint_contexts(_Repeated(decisions), allows_mutation)  # type: ignore[no-untyped-call]  # no types in torch
    return made


def checkpoint_selectively(module: fx.GraphModule, *operands: object) -> object:
    """Run the graph of a selective checkpoint, which draws no random numbers, as `torch.utils.checkpoint` does in eager.

    An operation of graphs. On fakes the graph runs as if it stood in the place of the checkpoint.
    """
    if any(isinstance(operand, FakeTensor) for operand in operands):
        result: object = module(*operands)
        return result
    return torch.utils.checkpoint.checkpoint(
        module, *operands, use_reentrant=False, preserve_rng_state=False, context_fn=find_contexts(module)
    )


def find_contexts(module: fx.GraphModule) -> Contexts:
    """The `context_fn` with the decisions about the nested graph of a checkpoint; where there are none, one that does nothing."""
    found: Contexts = module.meta.get(CONTEXTS, torch.utils.checkpoint.noop_context_fn)
    return found
