"""Graphs that differentiate, for a backend that records no history of its own operations (AOTAutograd).

Before: `grads = grad(loss, leaves); return loss`. After: `return loss.detach()`, and what runs the graph gives the result a
history again that raises torch's error for a second backward pass. AOTAutograd would differentiate `loss` once more.
"""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

import torch
from torch import fx

from framesmith.graph.arguments import EXAMPLE
from framesmith.graph.histories import is_used_up

_MESSAGE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after "
    "calling backward."
)


class UsedUp(torch.autograd.Function):
    """Gives a result a history that cannot be differentiated any more."""

    @staticmethod
    def forward(ctx: object, value: torch.Tensor, anchor: torch.Tensor) -> torch.Tensor:
        """The value, which requires a gradient since the anchor does. It is no view: one that a
        function of this kind gives cannot be changed in place."""
        return value.data

    @staticmethod
    def backward(ctx: object, *gradients: torch.Tensor) -> NoReturn:
        """Raise what autograd raises."""
        raise RuntimeError(_MESSAGE)


def detach_used_up(graph: fx.Graph) -> frozenset[int]:
    """Detach the outputs whose history a backward pass of the graph has used up; returns their positions.

    The backward passes themselves keep what they need: in a compiled graph this costs nothing, and AOTAutograd may have to
    differentiate other outputs through it.
    """
    passes = list(graph.find_nodes(op="call_function", target=torch.autograd.grad))
    if not passes:
        return frozenset()
    for node in passes:
        node.update_kwarg("retain_graph", True)
    output = graph.output_node()
    values = list(cast(Sequence[fx.Node], output.args[0]))
    found = {
        position
        for position, node in enumerate(values)
        if isinstance(example := node.meta[EXAMPLE], torch.Tensor)
        and example.grad_fn is not None
        and is_used_up(example)
    }
    with graph.inserting_before(output):
        for position in found:
            source = values[position]
            values[position] = graph.call_method("detach", (source,))
            values[position].meta.update(source.meta)
            values[position].meta[EXAMPLE] = source.meta[EXAMPLE].detach()
    output.args = (tuple(values),)
    return frozenset(found)


def restore_histories(
    call: Callable[..., tuple[object, ...]], positions: frozenset[int]
) -> Callable[..., tuple[object, ...]]:
    """The call, with a used up history for the results at these positions."""

    def run(*values: Any) -> tuple[object, ...]:
        results = list(call(*values))
        with torch.enable_grad():
            for position in positions:
                result = results[position]
                assert isinstance(result, torch.Tensor)
                anchor = torch.empty(0, requires_grad=True)
                results[position] = UsedUp.apply(result, anchor)  # type: ignore[no-untyped-call]  # torch's has no types
        return tuple(results)

    return run if positions else call
