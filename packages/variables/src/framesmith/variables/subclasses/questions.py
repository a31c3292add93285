"""Questions of Python code of torch about overrides: `has_torch_function`, and the switches that turn them off."""

from typing import Final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.overrides import is_overridden
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import check_function_modes
from framesmith.variables.objects.hidden_overrides import check_no_override

ROWS: Final = Rows()


@ROWS.call(torch._C._has_torch_function)
def has_torch_function(tx: TraceContext, relevant: Tracker, /) -> Tracker:
    """`_has_torch_function(operands)` of a tuple or list."""
    if not isinstance(relevant, TupleTracker | ListTracker):
        raise GraphBreak(NATIVE_CALL, f"has_torch_function({relevant.describe()})")
    return Constant(any(_is_asked(tx, item.realize()) for item in relevant.items))


@ROWS.call(torch._C._has_torch_function_unary, torch._C._has_torch_function_variadic)
def has_torch_function_of(tx: TraceContext, *operands: Tracker) -> Tracker:
    """`_has_torch_function` of operands that are passed one by one."""
    return Constant(any(_is_asked(tx, operand.realize()) for operand in operands))


def _is_asked(tx: TraceContext, operand: Tracker) -> bool:
    if not tx.changes.overrides.asks_none():
        check_function_modes()  # True under a mode, whatever the operands
    # C code of torch looks at the instance as well, where a trace sees only the class.
    check_no_override(tx, operand)
    return is_overridden(tx, (operand,), {})


@ROWS.call(torch._C._is_torch_function_enabled)
def is_torch_function_enabled(tx: TraceContext) -> Tracker:
    """Whether subclasses are asked at this point."""
    return Constant(tx.changes.overrides.asks_subclasses())


@ROWS.call(torch._C._is_torch_function_all_disabled)
def is_torch_function_all_disabled(tx: TraceContext) -> Tracker:
    """Whether neither subclasses nor modes are asked at this point."""
    return Constant(tx.changes.overrides.asks_none())
