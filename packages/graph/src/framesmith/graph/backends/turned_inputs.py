"""Inputs whose strides a graph changes, and to which it writes as well.

    x.t_()
    x.cumsum_(0)                   x: a matrix of the caller

AOTAutograd writes back what it has computed in the order of a contiguous tensor: the caller's views of that memory get other numbers.
"""

from torch import fx

from framesmith.graph.fakes.execution import storages_of
from framesmith.graph.fakes.written_memories import memories_written_by
from framesmith.graph.operations.data_errors import changes_form_of_input
from framesmith.graph.operations.purity import is_normalization


def writes_to_turned(graph: fx.Graph) -> bool:
    """Whether a closed graph gives an input other strides, and writes to its memory."""
    turning = {node for node in graph.nodes if changes_form_of_input(node)}
    memories = {storage for node in turning for storage in storages_of(node)}
    return bool(memories) and any(
        node not in turning
        and not is_normalization(node.target)
        and not memories.isdisjoint(memories_written_by(node))
        for node in graph.nodes
    )
