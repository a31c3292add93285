"""Results that cannot be differentiated any more, for a backend that differentiates all results (AOTAutograd).

Before: `grads = grad(loss, leaves); return loss`, or `z = y.exp(); w = z * 3; z.mul_(2); return w`. After: `return loss.detach()`, and
what runs the graph gives the result a history again that raises torch's error: for a second backward pass, or for a value
that was changed in place. AOTAutograd would differentiate `loss` once more, and refuse the second graph, though eager
raises only if a backward pass is run.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, cast

import torch
from torch import fx

from framesmith.graph.arguments import EXAMPLE
from framesmith.graph.histories import backward_errors
from framesmith.graph.purity import IMPURE, is_normalization, may_mutate
from framesmith.graph.replacing_backends import Reliance


class DeadHistory(torch.autograd.Function):
    """Gives a result a history that cannot be differentiated any more."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor, anchor: torch.Tensor, message: str) -> torch.Tensor:
        """The value, which requires a gradient since the anchor does. It is no view: one that a
        function of this kind gives cannot be changed in place."""
        ctx.message = message
        return value.data

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> NoReturn:
        """Raise what autograd raises."""
        raise RuntimeError(ctx.message)


def detach_dead(graph: fx.Graph, reliance: Reliance) -> dict[int, str]:
    """Detach the outputs that no backward pass can start from; returns their positions and what such a pass raises. Nothing where
    the operations run as captured.

    The backward passes of the graph itself keep what they need: in a compiled graph this costs nothing, and AOTAutograd may
    have to differentiate other outputs through it.
    """
    if reliance.is_certain:
        return {}
    passes = list(graph.find_nodes(op="call_function", target=torch.autograd.grad))
    # Nothing used a history up or changed what it needs.
    if not passes and not any(map(_writes, graph.nodes)):
        return {}
    output = graph.output_node()
    values = list(cast(Sequence[fx.Node], output.args[0]))
    examples = {
        position: example
        for position, node in enumerate(values)
        if isinstance(example := node.meta[EXAMPLE], torch.Tensor) and _has_history(example)
    }
    positions, errors = list(examples), backward_errors(list(examples.values()))
    found = {positions[place]: message for place, message in errors.items()}
    if not (passes or found) or reliance.ask():
        return {}
    for node in passes:
        node.update_kwarg("retain_graph", True)
    with graph.inserting_before(output):
        for position in found:
            source = values[position]
            values[position] = graph.call_method("detach", (source,))
            values[position].meta.update(source.meta)
            values[position].meta[EXAMPLE] = source.meta[EXAMPLE].detach()
    output.args = (tuple(values),)
    return found


def _has_history(example: torch.Tensor) -> bool:
    try:
        return example.grad_fn is not None
    except RuntimeError:  # torch fails to say for a view of what has become a leaf; no pass goes through it
        return False


def _writes(node: fx.Node) -> bool:
    """Whether the node may change a tensor that a backward pass needs. Running statistics are none."""
    # What the recorder saw change nothing needs no further question; a node that a pass added has no such mark.
    if node.op in ("placeholder", "output") or not node.meta.get(IMPURE, True):
        return False
    return may_mutate(node.op, node.target, node.args, node.kwargs) and not is_normalization(node.target)


def restore_histories(
    call: Callable[..., tuple[object, ...]], dead: Mapping[int, str]
) -> Callable[..., tuple[object, ...]]:
    """The call, with a history that raises the message for the results at these positions."""

    def run(*values: Any) -> tuple[object, ...]:
        results = list(call(*values))
        with torch.enable_grad():
            for position, message in dead.items():
                result = results[position]
                assert isinstance(result, torch.Tensor)
                # The result of a function requires a gradient only if an argument does, and `result` is detached.
                anchor = torch.empty(0, requires_grad=True)
                results[position] = DeadHistory.apply(result, anchor, message)  # type: ignore[no-untyped-call]  # torch's has no types
        return tuple(results)

    return run if dead else call
