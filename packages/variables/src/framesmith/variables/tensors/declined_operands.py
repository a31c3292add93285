"""Operands of operators on tensors for which torch returns NotImplemented, so that the operand is asked."""

from typing import Final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_VALUE
from framesmith.guards.class_lookup import defines
from framesmith.guards.words import with_article
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.unspecialized import refuse_unread
from framesmith.variables.graph_nodes.graph_values import CONVERSIONS, GraphValue
from framesmith.variables.objects.hidden_overrides import check_no_override

_NUMBER_LIKE: Final = ("__torch_function__", "__array__", "__index__", "__float__", "__complex__")


def leaves_operator_to(tx: TraceContext, operand: Tracker) -> bool:
    """Whether torch returns NotImplemented for the operand; breaks the graph when that is not certain."""
    if isinstance(operand, GraphValue):
        return False
    cls = operand.python_type
    if isinstance(operand, Constant) and (
        issubclass(cls, int | float | complex) or cls in tx.registry[CONVERSIONS]
    ):
        return False
    if any(defines(cls, name) for name in _NUMBER_LIKE):
        refuse_unread(operand)
        raise GraphBreak(UNSUPPORTED_VALUE, f"an operator on a tensor and {with_article(operand.describe())}")
    # torch would ask such an object before it gives NotImplemented.
    check_no_override(tx, operand)
    return True
