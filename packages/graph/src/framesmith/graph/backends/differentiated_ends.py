"""Where the gradients of a graph come in: its results, and the inputs that get a history by being written to.

h.add_(w * x)                   nothing is returned, and a backward pass from `h` leads to `w`
"""

from collections.abc import Set

from torch import fx

from framesmith.graph.fakes.execution import all_storages, is_differentiated, storage_of
from framesmith.graph.fakes.histories import has_history
from framesmith.graph.fakes.written_memories import memories_written_by
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in


def differentiated_ends(graph: fx.Graph) -> set[fx.Node]:
    """The results of a closed graph that require gradients, and the operations that write to inputs which have a history then."""
    # the results themselves: one may have been detached since the output was made
    ends = {node for node in graph.output_node().all_input_nodes if is_differentiated(node)}
    inputs = all_storages(graph.find_nodes(op="placeholder"))
    return ends | {node for node in graph.nodes if _writes_histories(node, inputs)}


def _writes_histories(node: fx.Node, inputs: Set[int]) -> bool:
    """Whether it writes to an input that has a history then: not the step of an optimizer, nor a normalization to its statistics."""
    written = inputs & memories_written_by(node)
    return bool(written) and any(
        has_history(one) and storage_of(one) in written
        for part in (node, *node.all_input_nodes)
        for one in tensors_in(part.meta.get(EXAMPLE))
    )
