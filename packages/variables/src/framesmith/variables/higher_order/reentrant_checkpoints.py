"""`checkpoint(function, *args, use_reentrant=True)` where its results and gradients are those of the other form.

The reentrant form is an `autograd.Function` of its tensor arguments: eager runs the function without gradients first, all its
floating results require a gradient if one argument does, and none does otherwise, whatever tensors it reaches besides.
That in-graph `torch.autograd.grad` of it raises in eager is not shown.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import torch
from torch import fx

from framesmith.graph import BreakKind, GraphBreak
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, Tracker
from framesmith.variables.higher_order.bodies import TracedBody
from framesmith.variables.tensors.tensors import TensorTracker

_REENTRANT: Final = "framesmith_reentrant"


def mark_reentrant(node: fx.Node, body: TracedBody, is_reentrant: bool) -> None:
    """Note for a checkpoint whether eager has the reentrant form where the graph has this node, or anywhere in its body."""
    if is_reentrant or _holds_reentrant(body):
        node.meta[_REENTRANT] = True


def _holds_reentrant(body: TracedBody) -> bool:
    return any(_REENTRANT in node.meta for node in body.recording.body.order)


def check_operands(args: Sequence[Tracker], kwargs: Mapping[str, Tracker], kind: BreakKind) -> None:
    """Break the graph where what is given decides about gradients in the reentrant form alone, or is refused."""
    if kwargs:
        raise GraphBreak(kind, "use_reentrant=True with keywords")
    given = [one.realize() for one in args]
    if not all(isinstance(one, TensorTracker | Constant) for one in given):
        raise GraphBreak(kind, "use_reentrant=True with containers of tensors, or with objects")
    # eager warns, also where no gradients are recorded
    if not any(isinstance(one, TensorTracker) and one.fake.requires_grad for one in given):
        raise GraphBreak(kind, "use_reentrant=True and no argument that requires a gradient")


def check_results(body: TracedBody) -> None:
    """Break the graph where results would have another history, or none, in the reentrant form, or where a checkpoint inside of that
    form warns that its arguments have none: it runs without gradients first."""
    if _holds_reentrant(body):
        raise GraphBreak(
            body.kind, "use_reentrant=True around another checkpoint with it, of which torch warns"
        )
    result = body.result
    items = [one.realize() for one in result.items] if isinstance(result, TupleTracker) else [result]
    if (isinstance(result, TupleTracker) and result.python_type is not tuple) or not all(
        isinstance(one, TensorTracker) for one in items
    ):
        raise GraphBreak(
            body.kind, "use_reentrant=True with a result that is no tensor, nor a tuple of tensors"
        )
    for output in body.outputs:
        fake = output.fake
        has_history = fake.requires_grad or not (fake.is_floating_point() or fake.is_complex())
        if fake._is_view() or (torch.is_grad_enabled() and not has_history):
            raise GraphBreak(
                body.kind, "use_reentrant=True with a result that is a view, or requires no gradient"
            )
