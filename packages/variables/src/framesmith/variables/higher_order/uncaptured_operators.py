"""Functions of torch around higher-order operators that no graph holds yet.

Where a compiler is at work they hand the functions of the program to the operator as they are, which only that of torch can take:
traced, they would give a flat tuple of tensors in place of the program's structure, and mark its tensors.
"""

from typing import Final, NoReturn

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.variables.callables.functions import DIRECTIVES
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()
# By name: some of these modules are imported by nobody else.
_FUNCTIONS: Final = (("torch._higher_order_ops.strict_mode", "strict_mode"),)


@ROWS.entry(DIRECTIVES, *_FUNCTIONS)
def run_natively(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> NoReturn:
    """Break the graph: the function runs natively, as a whole."""
    raise GraphBreak(NATIVE_CALL, "a function around a higher-order operator that no graph holds")
