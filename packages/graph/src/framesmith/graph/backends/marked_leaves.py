"""Values of a graph that `requires_grad_()` makes leaves, for a backend that differentiates the graph (AOTAutograd).

a = x.detach() * 2; a.requires_grad_(); grad((a * a).sum(), a)      the leaf is the graph's alone: nothing else sees its gradient
a = x.detach() * 2; a.requires_grad_(); return a                    eager: a leaf; AOTAutograd: a result, with a history
a = x.detach() * 2; a.requires_grad_(); return a * 3                eager: no gradient for `x`; AOTAutograd: zeros, or no history
"""

from collections.abc import Collection, Sequence

from torch import fx

from framesmith.graph.fakes.execution import all_storages
from framesmith.graph.fakes.histories import find_leaves
from framesmith.graph.inputs.inputs import Input
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.guards.sources.base import Source


def shows_marked_leaves(graph: fx.Graph, used: Sequence[Input], written: Collection[Source]) -> bool:
    """Whether a value that a closed graph makes a leaf is a result, or all that a gradient of a result reaches."""
    inputs = set(graph.find_nodes(op="placeholder"))
    marks = list(graph.find_nodes(op="call_method", target="requires_grad_"))
    marked = [node for node in marks if not inputs.issuperset(node.all_input_nodes)]
    if not marked:
        return False
    # What an input becomes by a write that is differentiated is a result too.
    changed = [entry.node for entry in used if entry.source in written]
    results = [*graph.output_node().all_input_nodes, *changed]
    leaves = {id(tensor) for node in marked for tensor in tensors_in(node.meta.get(EXAMPLE))}
    return not all_storages(results).isdisjoint(all_storages(marked)) or any(
        tensor.requires_grad and leaves.issuperset(map(id, find_leaves([tensor])))
        for node in results
        for tensor in tensors_in(node.meta.get(EXAMPLE))
    )
