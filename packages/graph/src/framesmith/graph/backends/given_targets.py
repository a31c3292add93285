"""Tensors that a program gives an operation for its result, laid out otherwise than what AOTAutograd computes.

y = torch.empty(3, 2).t()
torch.add(x, 1, out=y)             eager: `y` has its strides; AOTAutograd: those that `x + 1` has
"""

import torch
from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.options import is_fixed


def has_given_targets(graph: fx.Graph) -> bool:
    """Whether an operation of a closed graph is given such a tensor. Where it and the operands are contiguous, so is what is computed."""
    return any("out" in node.kwargs and not all(map(_is_dense, node.all_input_nodes)) for node in graph.nodes)


def _is_dense(node: fx.Node) -> bool:
    return all(_has_plain_strides(tensor) for tensor in tensors_in(node.meta.get(EXAMPLE)))


def _has_plain_strides(tensor: torch.Tensor) -> bool:
    """Whether the strides are those that a new tensor has, also where a size is 1. Not known where a size varies."""
    expected = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride()), strict=True):
        if not is_fixed(size) or not is_fixed(stride) or stride != expected:
            return False
        expected *= max(size, 1)
    return True
