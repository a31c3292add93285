"""A view of a computed tensor that is returned with a history and, detached, without one: AOTAutograd makes the one from the other.

    z = (x * 2).t()
    return z, z.detach()            AOTAutograd: the operations that lead to `z`, done with `z` once more: `z.detach().t()`

That gives the same where they only say which sizes there are (`view`).
"""

from collections.abc import Sequence
from typing import Final

import torch
from torch import fx

from framesmith.graph.fakes.execution import all_storages, storage_of
from framesmith.graph.inputs.inputs import Input
from framesmith.graph.nodes.arguments import EXAMPLE, example, tensors_in
from framesmith.graph.operations.data_errors import operator_name

_REPEATABLE: Final = frozenset({"view", "reshape", "view_as", "reshape_as", "flatten", "detach"})


def returns_detached_views(graph: fx.Graph, used: Sequence[Input]) -> bool:
    """Whether a closed graph returns both, as two tensors over the same part of memory that no input has."""
    results = graph.output_node().all_input_nodes
    views = [
        one for node in results for one in tensors_in(example(node)) if one.requires_grad and one._is_view()
    ]
    if not views:
        return False
    of_inputs = all_storages(entry.node for entry in used)
    return any(
        storage_of(one) not in of_inputs
        and any(_is_same_part(one, view) for view in views)
        and not _is_repeatable(node)
        for node in results
        for one in tensors_in(example(node))
        if not one.requires_grad
    )


def _is_same_part(one: torch.Tensor, other: torch.Tensor) -> bool:
    # sizes that vary are not compared, which would decide something about them
    return storage_of(one) == storage_of(other) and one.dim() == other.dim()


def _is_repeatable(node: fx.Node) -> bool:
    """Whether the operations by which a value was made of a tensor with the same memory only say which sizes there are."""
    value: object = node.meta.get(EXAMPLE)
    while isinstance(value, torch.Tensor) and node.op in ("call_method", "call_function"):
        operand = node.args[0] if node.args else None
        before = operand.meta.get(EXAMPLE) if isinstance(operand, fx.Node) else None
        if not isinstance(before, torch.Tensor) or storage_of(before) != storage_of(value):
            return True
        is_data = node.target is getattr and node.args[1:] == ("data",)
        if not is_data and operator_name(node.op, node.target) not in _REPEATABLE:
            return False
        assert isinstance(operand, fx.Node)
        node, value = operand, before
    return isinstance(value, torch.Tensor)
