"""`Function.apply` where autograd keeps nothing of the call: no argument takes part in it, or gradients are off.

`backward` can never run then, so the call is `forward` alone, and is traced as any function of the program: it may be given whatever
values, may read tensors that are no arguments, and may have side effects.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol, final

import torch

from framesmith.graph.environment.dual_levels import open_levels
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.base import run_pending
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.reach import reachable
from framesmith.variables.tensors.tensors import TensorTracker


class Differentiable(Protocol):
    """The methods of a `torch.autograd.Function` that are called here."""

    def forward(self, *args: object) -> object:
        """Compute the result."""
        ...

    def setup_context(self, ctx: object, inputs: object, output: object) -> None:
        """Save what `backward` needs, where `forward` gets no context."""
        ...

    def backward(self, ctx: object, *gradients: object) -> object:
        """Compute the gradients of the arguments."""
        ...


@final
class Context:
    """Replaces the `ctx` of a function while it is traced. Other methods and attributes break the graph."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[object, ...] = ()
        self.dirty: tuple[object, ...] = ()

    def save_for_backward(self, *tensors: object) -> None:
        """Set `saved_tensors`, as torch does."""
        self.saved_tensors = tensors

    def mark_dirty(self, *tensors: object) -> None:
        """Note the arguments that `forward` changes, as torch does."""
        self.dirty = tensors

    def mark_non_differentiable(self, *tensors: object) -> None:
        """Do nothing: only autograd needs it, when the real function runs."""

    def set_materialize_grads(self, value: bool) -> None:
        """Do nothing: only autograd needs it, when the real function runs."""


def run_forward(
    function: Differentiable, needs: tuple[bool, ...], args: Sequence[object], setup: bool
) -> tuple[object, Context, bool]:
    """Call forward, and return what `apply` gives, the context, and whether torch gives that without an error; this function is traced.

    As custom_function.cpp of torch does: an argument that is given back becomes a view of it, unless it was
    marked as changed (and may not be saved in `setup_context`), and nothing that is given back takes part in autograd.
    """
    context = Context(needs)
    with torch.no_grad():
        if setup:
            output = function.forward(*args)
            function.setup_context(context, tuple(args), output)
        else:
            output = function.forward(context, *args)
        outputs = output if isinstance(output, tuple) else (output,)
        is_sound = all(any(one is other for other in outputs) for one in context.dirty)
        results: list[object] = []
        for one in outputs:
            result = one
            if isinstance(one, torch.Tensor):
                is_given = any(one is other for other in args)
                if one.requires_grad:
                    is_sound = is_sound and is_given  # else torch detaches it in place
                    result = one.detach()
                elif is_given and not any(one is other for other in context.dirty):
                    is_sound = is_sound and not (
                        setup and any(one is other for other in context.saved_tensors)
                    )
                    result = one.view_as(one)
            results.append(result)
    return (tuple(results) if isinstance(output, tuple) else results[0]), context, is_sound


_FORWARD: Final = polyfill_function(run_forward)


def keeps_nothing(tx: TraceContext, operands: Sequence[Tracker]) -> bool:
    """Whether autograd keeps nothing of a call with these arguments; no transform may be there that asks for rules of the function."""
    use = tx.graph.use
    if use.is_transformed or use.is_repeated or use.is_batched or use.is_pushed_forward or open_levels():
        return False
    tensors = [one for one in operands if isinstance(one, TensorTracker)]
    others = [one for one in operands if not isinstance(one, TensorTracker)]
    if any(issubclass(one.python_type, torch.Tensor) for one in others):
        return False
    return not (torch.is_grad_enabled() and any(one.fake.requires_grad for one in tensors))


def trace_forward(
    tx: TraceContext,
    function: Tracker,
    operands: Sequence[Tracker],
    setup: bool,
    refuse: Callable[[str], Exception],
) -> Tracker:
    """What `apply` gives, with the operations of `forward` in the graph that is being recorded. `refuse` makes the break for a reason."""
    needs = [Constant(isinstance(one, TensorTracker) and one.fake.requires_grad) for one in operands]
    given = (function, TupleTracker(needs), TupleTracker(operands), Constant(setup))
    try:
        result = run_pending(tx, _FORWARD.bind(tx, given, {}))
    except ObservedException:
        # Natively it raises in the program's own frames.
        raise refuse("raises an exception") from None
    assert isinstance(result, TupleTracker)
    output, context, is_sound = (one.realize() for one in result.items)
    if not is_sound.as_python_constant():
        raise refuse("gives back what takes part in autograd, or not what it marks as changed")
    if id(context) in reachable([output, *tx.changes.changed_trackers()]):
        raise refuse("keeps its context")
    return output
