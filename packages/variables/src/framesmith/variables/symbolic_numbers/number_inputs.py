"""Wrapping immutable constants and numbers: guarded by value, or symbolic or unspecialized where the policy says so."""

from typing import Final

from framesmith.graph import GraphBreak
from framesmith.graph.nodes.arguments import example
from framesmith.guards import Source
from framesmith.guards.kinds import EqualTo, TypeIs
from framesmith.variables.builtin_types.unspecialized_values import UnspecializedValue, may_stay_unspecialized
from framesmith.variables.core import Constant, TraceContext, Tracker, is_constant_type
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.unspecialized import is_computed_unspecialized
from framesmith.variables.symbolic_numbers.computed_numbers import LARGEST_SYMBOLIC, ComputedNumber
from framesmith.variables.symbolic_numbers.symbolic import number

ROWS: Final = Rows()


@ROWS.wrap_when(5, is_constant_type)
def wrap_constant(tx: TraceContext, value: object, source: Source) -> Tracker:
    """A constant, guarded by value and type; a dynamic number becomes a symbolic
    one and an unspecialized value stays unread, both guarded by type."""
    # A bool is an int, but has two values only: it is guarded by value.
    if type(value) in (int, float) and tx.wrap.policy.is_dynamic_number(source):
        assert isinstance(value, int | float)
        symbolic = symbolic_input(tx, value, source)
        if symbolic is not None:
            return symbolic
    if may_stay_unspecialized(value) and tx.wrap.policy.is_unspecialized(source):
        tx.guard(source, TypeIs(type(value)))
        return UnspecializedValue(value, source)
    tx.guard(source, EqualTo(value))
    return Constant(value, source)


def symbolic_input(tx: TraceContext, value: int | float, source: Source) -> Tracker | None:
    """A symbol for an int, a formula for a float; None where the backend or the value does not allow one."""
    if isinstance(value, float):
        # Its type alone: what the trace decides on the number adds guards of its own.
        tx.guard(source, TypeIs(float))
        return ComputedNumber(tx, value, source)
    if abs(value) >= LARGEST_SYMBOLIC:
        return None
    try:
        node = tx.graph.number_input(source, value, is_unspecialized=is_computed_unspecialized(tx, source))
    # The graph cannot make a symbol of it here; then the value is guarded.
    except GraphBreak:
        return None
    tx.guard(source, TypeIs(type(value)))
    return number(tx, example(node), source)
