"""Results that are views, which AOTAutograd makes anew: of inputs that the graph has written to, or where it begins without gradients.

    x.mul_(2)
    return x.view_as(x)            x: every second row of a matrix

    with torch.no_grad(): print()  # a break
    return weight.view(-1)         AOTAutograd: without a history, in the mode in which the graph has begun

It makes a view of the input with strides that it takes for those of a contiguous tensor. The first kind counts where sizes may vary, or the
view has a history of its own. Views of tensors that wrap
others are in `wrapper_views`.
"""

from collections.abc import Collection, Sequence

import torch
from torch import fx

from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.inputs.inputs import Input
from framesmith.graph.nodes.arguments import example, tensors_in
from framesmith.graph.options import is_symbolic
from framesmith.guards.sources.base import Source


def returns_own_histories(graph: fx.Graph, used: Sequence[Input]) -> bool:
    """Whether a closed graph returns a tensor with a history over the memory of an input without one: `y = x.detach(); y.add_(weight)`.
    AOTAutograd makes it anew of the input, and it has no history then."""
    places = {
        storage_of(entry.example)
        for entry in used
        if isinstance(entry.example, torch.Tensor) and not entry.example.requires_grad
    }
    return bool(places) and any(
        one.requires_grad and storage_of(one) in places
        for node in graph.output_node().all_input_nodes
        for one in tensors_in(example(node))
    )


def returns_recorded_views(graph: fx.Graph) -> bool:
    """Whether a result of a closed graph is a view with a history."""
    return any(
        one.requires_grad and one._is_view() and _has_history(one)
        for node in graph.output_node().all_input_nodes
        for one in tensors_in(example(node))
    )


def _has_history(view: torch.Tensor) -> bool:
    try:
        return view.grad_fn is not None
    except RuntimeError:  # its memory was written to since, in a way that autograd forbids
        return True


def returns_varying_views(graph: fx.Graph, used: Sequence[Input], written: Collection[Source]) -> bool:
    """Whether a closed graph returns a view of sizes that vary, of an input that it has written to."""
    places = {
        storage_of(entry.example)
        for entry in used
        if entry.source in written and isinstance(entry.example, torch.Tensor)
    }
    return bool(places) and any(
        storage_of(one) in places and any(map(is_symbolic, one.shape))
        for node in graph.output_node().all_input_nodes
        for one in tensors_in(example(node))
    )
