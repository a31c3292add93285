"""Values with a hook on their gradient, for a backend that differentiates the graph (AOTAutograd): where it would run it otherwise.

Before: `y = x * 2; attach_traced_hook(y, body); return y.sin()`. AOTAutograd traces the body as a part of the backward pass, in the place
where eager runs the hook. But it gives each result a gradient, zeros where the program gives none, so a hook runs where eager does not,
unless all results come from the value. The program may ask for the gradient of the value itself, if it gets that, and change what the
hook reads before the backward pass, if that is not the graph's alone.
"""

from collections.abc import Collection, Sequence

import torch
from torch import fx

from framesmith.graph.fakes.execution import all_storages
from framesmith.graph.fakes.histories import passes_through
from framesmith.graph.inputs.inputs import Input
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.operations.tensor_hooks import attach_traced_hook
from framesmith.guards.sources.base import Source


def runs_hooks_otherwise(graph: fx.Graph, used: Sequence[Input], written: Collection[Source]) -> bool:
    """Whether a backward pass of this closed graph would not run a hook as eager does."""
    attached = list(graph.find_nodes(op="call_function", target=attach_traced_hook))
    if not attached:
        return False
    # What an input becomes by a write that is differentiated is a result too.
    changed = [entry.node for entry in used if entry.source in written]
    results = [*graph.output_node().all_input_nodes, *changed]
    ends = [one for node in results for one in _tensors(node) if one.grad_fn is not None]
    known = all_storages([*graph.output_node().all_input_nodes, *graph.find_nodes(op="placeholder")])
    return any(
        not known.isdisjoint(all_storages(node.all_input_nodes))
        or not all(passes_through([end], _tensors(node.all_input_nodes[0])) for end in ends)
        for node in attached
    )


def _tensors(node: fx.Node) -> list[torch.Tensor]:
    return list(tensors_in(node.meta.get(EXAMPLE)))
