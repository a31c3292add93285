"""Operations that draw another number of random numbers in a backend that replaces operations, or draw them in another order.

    F.dropout(x, 1.0)                       all is dropped: eager draws nothing, the backend draws a mask
    torch.native_dropout(x, 0.0, True)      the other way round
    x.T.bernoulli_()                        eager goes through the memory, the backend through the rows

A graph with such an operation runs as it was captured, so that what is drawn, now and afterwards, is the same.
"""

from typing import Final

import torch
from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.operations.data_errors import operator_name
from framesmith.graph.operations.purity import is_outside_of_training
from framesmith.graph.options import hint_of

_KEYWORDS: Final = ("p", "dropout_p")
_PLACES: Final = {
    "multi_head_attention_forward": 10,
    "scaled_dot_product_attention": 4,
    "dropout": 1,
    "dropout_": 1,
    "native_dropout": 1,
}
_ORDERED: Final = frozenset([
    "bernoulli_", "dropout_", "alpha_dropout", "alpha_dropout_", "feature_alpha_dropout", "feature_alpha_dropout_", "rrelu", "rrelu_",
])  # fmt: skip
_IN_PLACE: Final = frozenset(["dropout", "dropout1d", "dropout2d", "dropout3d"])
DECIDED_DRAWS: Final = frozenset(_PLACES)
"""What draws nothing at some probability."""
ORDERED_DRAWS: Final = _ORDERED | _IN_PLACE
"""What draws in the order of memory."""
_DECIDED: Final = {"native_dropout": 0.0}
"""The probability with which the numbers drawn differ; 1 for all others."""


def draws_otherwise(graph: fx.Graph) -> bool:
    """Whether an operation of a graph draws more, or less, if it is replaced."""
    return any(map(_is_decided, graph.nodes))


def draws_in_other_order(graph: fx.Graph) -> bool:
    """Whether an operation of a graph fills, or drops from, a tensor that is not contiguous."""
    return any(map(_is_in_other_order, graph.nodes))


def _is_in_other_order(node: fx.Node) -> bool:
    if node.op not in ("call_function", "call_method"):
        return False
    name = operator_name(node.op, node.target)
    if name not in _ORDERED and not (
        name in _IN_PLACE and (node.kwargs.get("inplace") or node.args[3:4] == (True,))
    ):
        return False
    return any(
        not _is_contiguous(tensor)
        for operand in node.all_input_nodes[:1]
        for tensor in tensors_in(operand.meta.get(EXAMPLE))
    )


def _is_contiguous(tensor: torch.Tensor) -> bool:
    """With the sizes of this call, where they may vary: nothing is asked of symbols."""
    expected = 1
    for size, stride in reversed(
        list(zip(map(hint_of, tensor.shape), map(hint_of, tensor.stride()), strict=True))
    ):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _is_decided(node: fx.Node) -> bool:
    if node.op not in ("call_function", "call_method"):
        return False
    name = operator_name(node.op, node.target)
    place = _PLACES.get(name)
    if place is None or (
        name != "scaled_dot_product_attention" and is_outside_of_training(node.args, node.kwargs)
    ):
        return False
    given = [node.kwargs[keyword] for keyword in _KEYWORDS if keyword in node.kwargs]
    probability = (given or [*node.args[place : place + 1], None])[0]
    # One that is known at run time only may be any.
    return isinstance(probability, fx.Node) or bool(probability == _DECIDED.get(name, 1.0))
