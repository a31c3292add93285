"""Operations that draw another number of random numbers in a backend that replaces operations, for some probabilities.

    F.dropout(x, 1.0)                       all is dropped: eager draws nothing, the backend draws a mask
    torch.native_dropout(x, 0.0, True)      the other way round

A graph with such an operation runs as it was captured, so that what is drawn afterwards is the same.
"""

from typing import Final

from torch import fx

from framesmith.graph.operations.data_errors import operator_name
from framesmith.graph.operations.purity import is_outside_of_training

_KEYWORDS: Final = ("p", "dropout_p")
_PLACES: Final = {
    "multi_head_attention_forward": 10,
    "scaled_dot_product_attention": 4,
    "dropout": 1,
    "dropout_": 1,
    "native_dropout": 1,
}
_DECIDED: Final = {"native_dropout": 0.0}
"""The probability with which the numbers drawn differ; 1 for all others."""


def draws_otherwise(graph: fx.Graph) -> bool:
    """Whether an operation of a graph draws more, or less, if it is replaced."""
    return any(map(_is_decided, graph.nodes))


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
