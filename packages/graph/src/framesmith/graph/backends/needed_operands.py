"""Writes in place to an input with a history, of which the gradient needs what the input held.

x.sin_()                        eager saves a copy of what `x` held
x.mul_(w)                       AOTAutograd saves `x`, and writes to it when the graph has run: the backward pass is refused
"""

from collections.abc import Sequence
from typing import Final

import torch
from torch import fx

from framesmith.graph.fakes.execution import is_differentiated, storage_of
from framesmith.graph.fakes.written_memories import memories_written_by
from framesmith.graph.inputs.inputs import Input
from framesmith.graph.operations.data_errors import operator_name

_NEEDS_NOTHING: Final = frozenset(
    [
        "add_",
        "sub_",
        "subtract_",
        "iadd",
        "isub",
        "__iadd__",
        "__isub__",
        "neg_",
        "negative_",
        "fill_",
        "zero_",
        "copy_",
        "setitem",
        "__setitem__",
        "masked_fill_",
        "masked_scatter_",
        "scatter_",
        "scatter_add_",
        "index_add_",
        "index_copy_",
        "index_fill_",
        "index_put_",
        "clamp_min_",
        "detach_",
        "relu_",
        "exp_",
        "tanh_",
        "sigmoid_",
        "sqrt_",
        "rsqrt_",
        "reciprocal_",
        "tan_",
        "expm1_",
        "dropout_",
        "feature_dropout_",
        "alpha_dropout_",
        "squeeze_",
        "unsqueeze_",
        "t_",
        "transpose_",
        "as_strided_",
        "swapaxes_",
        "swapdims_",
        "requires_grad_",
        "relu",
        "dropout",
        "threshold_",
        "threshold",
        "leaky_relu_",
        "leaky_relu",
    ]
)
"""Of these the gradient needs nothing of the target, or what was written."""
_NEED_A_FACTOR: Final = frozenset(
    [
        "mul_",
        "multiply_",
        "imul",
        "__imul__",
        "div_",
        "divide_",
        "true_divide_",
        "itruediv",
        "__itruediv__",
        "ifloordiv",
    ]
)
"""Of these the gradient of the other operand needs the target."""


def needs_written_operands(graph: fx.Graph, used: Sequence[Input]) -> bool:
    """Whether an operation writes to an input with a history, and its gradient needs what was there."""
    memories = {
        storage_of(entry.example)
        for entry in used
        if isinstance(entry.value, torch.Tensor)
        and isinstance(entry.example, torch.Tensor)
        and is_differentiated(entry.node)
    }
    return bool(memories) and any(
        _needs_target(node) for node in graph.nodes if not memories.isdisjoint(memories_written_by(node))
    )


def _needs_target(node: fx.Node) -> bool:
    name = operator_name(node.op, node.target)
    if name in _NEED_A_FACTOR:
        return any(map(is_differentiated, node.all_input_nodes[1:]))
    return name not in _NEEDS_NOTHING
