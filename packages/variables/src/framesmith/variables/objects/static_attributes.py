"""`inspect.getattr_static` of a class, which `ExitStack` asks for `__enter__` and `__exit__`: the item as it is stored."""

import inspect
from typing import Final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.objects.classes import ClassTracker
from framesmith.variables.objects.lookup import find

ROWS: Final = Rows()


@ROWS.call(inspect.getattr_static)
def getattr_static(tx: TraceContext, obj: Tracker, attr: Tracker, default: Tracker | None = None) -> Tracker:
    """`inspect.getattr_static(cls, name[, default])`: the item of the class, else of its metaclass. Breaks the graph for an
    instance."""
    name = attr.as_python_constant() if attr.is_python_constant() else None
    if not isinstance(obj, ClassTracker) or type(name) is not str:
        raise GraphBreak(NATIVE_CALL, f"inspect.getattr_static({obj.describe()}, {attr.describe()})")
    found = find(tx, obj.value, name) or find(tx, type(obj.value), name)
    if found is not None:
        return found.tracker(tx)
    if default is None:
        raise_observed(tx, AttributeError, name)
    return default
