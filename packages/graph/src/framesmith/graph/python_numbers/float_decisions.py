"""Finds operations that decided on a symbolic float, or computed a size from it, by torch's arithmetic (ADR 0011).

torch does arithmetic on symbolic floats as if they were real numbers: the number of elements of `torch.arange(0, v, 0.1)`
is `ceiling(10.0*v)` to it, where the operation computes `ceil(v / 0.1)` with rounding. Such a float has to be fixed.
Only a comparison of the float itself with a number is exact.
"""

from collections.abc import Iterable

import sympy
import torch
from torch.utils._sympy.symbol import SymT, symbol_is_type

from framesmith.graph.breaks.errors import FloatNeeded
from framesmith.graph.nodes.arguments import tensors_in
from framesmith.graph.nodes.expressions import Expression


def check_floats(operation: str, result: object, decisions: Iterable[Expression]) -> None:
    """Raise FloatNeeded if torch computed the result, its sizes or one of the decisions from a symbolic float."""
    if _rests_on_floats(result, decisions):
        raise FloatNeeded(operation)


def _rests_on_floats(result: object, decisions: Iterable[Expression]) -> bool:
    """Whether a size of the result, the number that it is, or a decision is computed from a symbolic float."""
    numbers = [size for tensor in tensors_in(result) for size in tensor.shape]
    expressions = [number.node.expr for number in (*numbers, result) if isinstance(number, torch.SymInt)]
    return any(map(_has_float, expressions)) or any(
        _has_float(decision) and not _is_plain(decision) for decision in decisions
    )


def _has_float(expression: Expression) -> bool:
    return any(symbol_is_type(symbol, SymT.FLOAT) for symbol in expression.free_symbols)


def _is_plain(decision: Expression) -> bool:
    """Whether it compares symbols and numbers only, without arithmetic."""
    return isinstance(decision, sympy.core.relational.Relational) and all(
        isinstance(side, sympy.Symbol) or side.is_number for side in decision.args
    )
