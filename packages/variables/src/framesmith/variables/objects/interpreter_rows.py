"""Values of the interpreter that seldom change: they are constants of the entry, with a guard that they are the same.

The `repr` of classes, their resolution order and their subclasses are here too, as the same kind of code uses them (dispatch on
names, registries of implementations).
"""

import sys
from typing import Final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import CALL_SIGNATURE
from framesmith.guards import Guard, Reason
from framesmith.guards.class_lookup import (
    compute_order,
    direct_subclasses,
    has_own_order,
    is_immutable,
    qualified_name,
    type_dict,
)
from framesmith.guards.kinds import AmbientValue, EqualTo
from framesmith.guards.sources import CallResult, ClassDictItem
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.objects.classes import ClassTracker
from framesmith.variables.objects.lookup import class_source

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
    changed = tx.changes.classes.get(self.value)
    if changed is not None and not changed.changes.keys().isdisjoint(
        ("__module__", "__name__", "__qualname__")
    ):
        return self.unsupported("writing a text of it, as the trace changed its name")
    _guard_text(tx, self.value)
    return Constant(type.__repr__(self.value))


def _guard_text(tx: TraceContext, cls: type) -> None:
    """Guard what `type.__repr__` reads of a class, which is cheaper to compare than a new text in each call."""
    if is_immutable(cls):
        return
    source, module = class_source(cls), type_dict(cls).get("__module__")
    if type(module) is str:
        # by a call: a class has no new version number when its name changes
        tx.guard(CallResult(source, qualified_name), EqualTo(qualified_name(cls)))
        tx.guard(ClassDictItem(source, "__module__"), EqualTo(module))
    else:
        tx.guard(CallResult(source, type.__repr__), EqualTo(type.__repr__(cls)))


@ROWS.call(type.__subclasses__)
def class_subclasses(tx: TraceContext, self: Tracker, /) -> Tracker:
    """`cls.__subclasses__()`: a new list of the classes that derive from it now; guarded."""
    if not isinstance(self, ClassTracker):
        raise GraphBreak(CALL_SIGNATURE, f"type.__subclasses__ of {self.describe()}")
    # Read from `type` itself the method is not bound, so a call without a class raises TypeError.
    if self.value is type:
        return self.unsupported("type.__subclasses__ without a class")
    found: list[type] = type.__subclasses__(self.value)
    tx.guard(CallResult(class_source(self.value), direct_subclasses), EqualTo(direct_subclasses(self.value)))
    return ListTracker([ClassTracker(each) for each in found])


@ROWS.call(compute_order)
def class_order(tx: TraceContext, self: Tracker, /) -> Tracker:
    """`cls.mro()`: the resolution order as a new list, where the metaclass does not compute another one."""
    if not isinstance(self, ClassTracker):
        raise GraphBreak(CALL_SIGNATURE, f"type.mro of {self.describe()}")
    if has_own_order(self.value):
        return self.unsupported("type.mro with a metaclass that has its own")
    order = self.attribute(tx, "__mro__")
    return ListTracker(unpack(tx, order))
