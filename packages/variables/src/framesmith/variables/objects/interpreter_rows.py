"""Questions to the interpreter whose answer seldom changes: folded, with a guard that it is still the same.

How classes show themselves stands here too, as it is asked by the same kind of code (dispatch on names).
"""

import sys

from framesmith.graph import GraphBreak
from framesmith.graph.break_kinds import CALL_SIGNATURE
from framesmith.guards import Guard, Reason
from framesmith.guards.kinds import AmbientValue
from framesmith.variables.core import CALLABLES, Constant, TraceContext, Tracker
from framesmith.variables.objects.classes import ClassTracker


@CALLABLES.row(sys.getrecursionlimit)
def recursion_limit(tx: TraceContext) -> Tracker:
    """`sys.getrecursionlimit()`: `inspect.unwrap` asks for it."""
    answer = sys.getrecursionlimit()
    claim = AmbientValue(sys.getrecursionlimit, (), answer)
    tx.guards.add(Guard.relation(claim, Reason("the program asked for the recursion limit", None)))
    return Constant(answer)


@CALLABLES.row(type.__repr__)
def class_repr(tx: TraceContext, self: Tracker, /) -> Tracker:
    """`<class 'module.name'>`."""
    if not isinstance(self, ClassTracker):
        raise GraphBreak(CALL_SIGNATURE, f"type.__repr__ of {self.describe()}")
    return Constant(type.__repr__(self.value))
