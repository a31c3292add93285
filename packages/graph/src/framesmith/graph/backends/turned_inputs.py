"""Inputs whose strides a graph changes, and to which it writes as well.

    x.t_()
    x.cumsum_(0)                   x: a matrix of the caller

AOTAutograd writes back what it has computed in the order of a contiguous tensor: the caller's views of that memory get other numbers.

    with torch.no_grad(): weight.unsqueeze_(0)
    x.as_strided_((3,), (1,))      x: `base[:1].expand(2, 3)`

It gives a leaf its form where gradients are on, which raises, and takes an input for all of its memory. Of one with sizes that vary torch
2.15 loses the strides.
"""

from typing import Final

from torch import fx

from framesmith.graph.fakes.execution import storages_of
from framesmith.graph.fakes.written_memories import memories_written_by
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.operations.data_errors import changes_form_of_input, operator_name
from framesmith.graph.operations.purity import is_normalization
from framesmith.graph.options import is_fixed

_TAKES_OTHER_MEMORY: Final = "as_strided_"


def writes_to_turned(graph: fx.Graph) -> bool:
    """Whether a closed graph gives an input other strides, and writes to its memory; or it gives them to a leaf or to one with
    sizes that vary, or takes other memory."""
    turning = {node for node in graph.nodes if changes_form_of_input(node)}
    if any(map(_is_refused, turning)):
        return True
    memories = {storage for node in turning for storage in storages_of(node)}
    return bool(memories) and any(
        node not in turning
        and not is_normalization(node.target)
        and not memories.isdisjoint(memories_written_by(node))
        for node in graph.nodes
    )


def _is_refused(node: fx.Node) -> bool:
    value = node.meta[EXAMPLE]
    return operator_name(node.op, node.target) == _TAKES_OTHER_MEMORY or any(
        (one.requires_grad and one.is_leaf) or not all(map(is_fixed, one.shape)) for one in tensors_in(value)
    )
