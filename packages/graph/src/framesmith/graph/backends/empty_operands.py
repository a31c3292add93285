"""Operations on tensors of no elements that AOTAutograd decomposes by rules which hold for others only.

    F.mse_loss(x[:0], y[:0]).backward()       eager: the gradient is empty; the decomposition divides by the number of elements

The last batch of an epoch may be empty, or a mask true nowhere. A graph with such an operation runs as it was captured.
"""

from typing import Final

import torch
from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.operations.data_errors import operator_name

REFUSING_EMPTY: Final = frozenset([
    "group_norm", "mse_loss", "smooth_l1_loss", "huber_loss", "multi_margin_loss", "multilabel_margin_loss", "index_fill", "index_fill_",
    "index_put", "index_put_", "setitem", "__setitem__", "interpolate", "upsample", "upsample_nearest", "upsample_bilinear", "resize_",
])  # fmt: skip


def has_empty_operands(graph: fx.Graph) -> bool:
    """Whether one of these operations of a closed graph is given a tensor of no elements, or gives one."""
    return any(map(_works_on_nothing, graph.nodes))


def _works_on_nothing(node: fx.Node) -> bool:
    if (
        node.op not in ("call_function", "call_method")
        or operator_name(node.op, node.target) not in REFUSING_EMPTY
    ):
        return False
    return any(
        _is_empty(tensor)
        for one in (node, *node.all_input_nodes)
        for tensor in tensors_in(one.meta.get(EXAMPLE))
    )


def _is_empty(tensor: torch.Tensor) -> bool:
    """Asks nothing of symbols: a size of 0 is never one."""
    return any(type(size) is int and size == 0 for size in tensor.shape)
