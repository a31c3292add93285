"""Results that cannot be differentiated any more, for a backend that differentiates all results (AOTAutograd).

Before: `grads = grad(loss, leaves); return loss`, or `z = y.exp(); w = z * 3; z.mul_(2); return w`. After: `return loss.detach()`, and
what runs the graph gives the result a history again that leads to the same inputs and raises torch's error: for a second backward pass,
or for a value that was changed in place. AOTAutograd would differentiate `loss` once more, and refuse the second graph, though eager
raises only if a backward pass is run.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast, final

import torch
from torch import fx

from framesmith.graph.fakes.histories import backward_errors, find_leaves, last_operation
from framesmith.graph.inputs.inputs import Input
from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.operations.purity import IMPURE, is_normalization, may_mutate
from framesmith.graph.options import hint_of
from framesmith.graph.replacing_backends import Reliance


class DeadHistory(torch.autograd.Function):
    """Gives a result a history that cannot be differentiated any more."""

    @staticmethod
    def forward(ctx: Any, message: str, value: torch.Tensor, *anchors: torch.Tensor) -> torch.Tensor:
        """The value, which requires a gradient since the anchors do. It is no view: one that a
        function of this kind gives cannot be changed in place."""
        ctx.message = message
        return value.data

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> NoReturn:
        """Raise what autograd raises."""
        raise RuntimeError(ctx.message)


@final
@dataclass(frozen=True, slots=True)
class DeadResult:
    """What a backward pass from a result raises, the sizes of the result while tracing, and the inputs of the graph, as nodes, that it
    would have led to."""

    message: str
    sizes: Sequence[int]
    inputs: Collection[fx.Node]

    def write(self, result: torch.Tensor) -> str:
        """The message for a result of this call: it names what was changed with its sizes, which are those of the result as a rule."""
        return self.message.replace(f" {[*self.sizes]}]", f" {[*result.shape]}]")


def detach_dead(graph: fx.Graph, reliance: Reliance) -> dict[int, DeadResult]:
    """Detach the outputs that no backward pass can start from; returns them by their positions. Nothing where the operations run as
    captured.

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
        if isinstance(example := node.meta[EXAMPLE], torch.Tensor) and last_operation(example) is not None
    }
    positions, errors = list(examples), backward_errors(list(examples.values()))
    found = {
        position: DeadResult(message, [*map(hint_of, example.shape)], _inputs_of(graph, example))
        for position, example, message in (
            (positions[place], examples[positions[place]], message) for place, message in errors.items()
        )
    }
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


def _inputs_of(graph: fx.Graph, result: torch.Tensor) -> list[fx.Node]:
    leaves = {id(leaf) for leaf in find_leaves([result])}
    return [
        node
        for node in graph.find_nodes(op="placeholder")
        if isinstance(fake := node.meta[EXAMPLE], torch.Tensor)
        and not leaves.isdisjoint(id(leaf) for leaf in find_leaves([fake]))
    ]


def _writes(node: fx.Node) -> bool:
    """Whether the node may change a tensor that a backward pass needs. Running statistics are none."""
    # What the recorder saw change nothing needs no further question; a node that a pass added has no such mark.
    if node.op in ("placeholder", "output") or not node.meta.get(IMPURE, True):
        return False
    return may_mutate(node.op, node.target, node.args, node.kwargs) and not is_normalization(node.target)


def restore_histories(
    call: Callable[..., tuple[object, ...]], dead: Mapping[int, DeadResult], used: Sequence[Input]
) -> Callable[..., tuple[object, ...]]:
    """The call, which takes the values of the inputs in `used`, with a history that raises the message for these results."""
    ends = [
        (position, one, [place for place, entry in enumerate(used) if entry.node in one.inputs])
        for position, one in dead.items()
    ]

    def run(*values: Any) -> tuple[object, ...]:
        results = list(call(*values))
        with torch.enable_grad():
            for position, dead_result, places in ends:
                result = results[position]
                assert isinstance(result, torch.Tensor)
                # The result of a function requires a gradient only if an argument does, and `result` is detached.
                anchors = [values[place] for place in places] or [torch.empty(0, requires_grad=True)]
                results[position] = DeadHistory.apply(dead_result.write(result), result, *anchors)  # type: ignore[no-untyped-call]  # torch's has no types
        return tuple(results)

    return run if ends else call
