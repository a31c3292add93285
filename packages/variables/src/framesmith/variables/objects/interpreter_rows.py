"""Values of the interpreter that seldom change: they are constants of the entry, with a guard that they are the same.

The `repr` of classes is here too, as the same kind of code uses it (dispatch on names).
"""

import sys
from typing import Final

from framesmith.graph import GraphBreak
from framesmith.graph.break_kinds import CALL_SIGNATURE
from framesmith.guards import Guard, Reason
from framesmith.guards.kinds import AmbientValue
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.objects.classes import ClassTracker

ROWS: Final = Rows()


@ROWS.call(sys.getrecursionlimit)
def recursion_limit(tx: TraceContext) -> Tracker:
    """`sys.getrecursionlimit()`, which `inspect.unwrap` calls; guarded."""
    answer = sys.getrecursionlimit()
    claim = AmbientValue(sys.getrecursionlimit, (), answer)
    tx.guards.add(Guard.relation(claim, Reason("the program asked for the recursion limit", None)))
    return Constant(answer)


@ROWS.call(type.__repr__)
def class_repr(tx: TraceContext, self: Tracker, /) -> Tracker:
    """`type.__repr__(cls)`: `<class 'module.name'>`."""
    if not isinstance(self, ClassTracker):
        raise GraphBreak(CALL_SIGNATURE, f"type.__repr__ of {self.describe()}")
    return Constant(type.__repr__(self.value))
