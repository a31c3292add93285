"""`getattr`, `setattr`, `hasattr`, `delattr`, `vars`: attribute access by a name that is a value.

The methods of `object` that do the same are in `objects.object_methods`.
"""

from typing import Final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import INTROSPECTION
from framesmith.guards.class_lookup import class_name
from framesmith.variables.core.attribute_errors import complete_error
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker, run_pending
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()


def attribute_name(tx: TraceContext, name: Tracker, function: str) -> str:
    """The name as a string; TypeError for another type, a graph break for an unknown string."""
    name = name.realize()
    if not issubclass(name.python_type, str):
        kind = class_name(name.python_type)
        raise_observed(tx, TypeError, f"attribute name must be string, not '{kind}'")
    value = (
        name.as_python_constant() if name.is_python_constant() else name.unsupported(f"use in {function}()")
    )
    assert isinstance(value, str)
    return value


@ROWS.call(getattr)
def getattr_(
    tx: TraceContext, target: Tracker, name: Tracker, default: Tracker | None = None, /
) -> Tracker | PendingCall:
    """`getattr(target, name[, default])`."""
    attribute = attribute_name(tx, name, "getattr")
    if default is None:
        # left pending: without a default nobody has to see an AttributeError of a property
        try:
            return target.begin_attribute(tx, attribute)
        except ObservedException as error:
            complete_error(error, target.realize(), attribute)
            raise
    # with a default the read has to end here, since AttributeError decides
    found = attribute_or_none(tx, target, attribute)
    return default if found is None else found


def attribute_or_none(tx: TraceContext, target: Tracker, name: str) -> Tracker | None:
    """The attribute, or None where reading it raises AttributeError."""
    try:
        return run_pending(tx, target.begin_attribute(tx, name))
    except ObservedException as error:
        if issubclass(error.exception.python_type, AttributeError):
            return None
        raise


@ROWS.call(hasattr)
def hasattr_(tx: TraceContext, target: Tracker, name: Tracker, /) -> Tracker:
    """`hasattr(target, name)`."""
    return Constant(attribute_or_none(tx, target, attribute_name(tx, name, "hasattr")) is not None)


@ROWS.call(setattr)
def setattr_(tx: TraceContext, target: Tracker, name: Tracker, value: Tracker, /) -> Tracker:
    """`setattr(target, name, value)`."""
    target.set_attribute(tx, attribute_name(tx, name, "setattr"), value)
    return Constant(None)


@ROWS.call(delattr)
def delattr_(tx: TraceContext, target: Tracker, name: Tracker, /) -> Tracker:
    """`delattr(target, name)`."""
    target.delete_attribute(tx, attribute_name(tx, name, "delattr"))
    return Constant(None)


@ROWS.call(vars)
def vars_(tx: TraceContext, target: Tracker | None = None, /) -> Tracker:
    """`vars(target)`: its `__dict__`; TypeError without one. `vars()` needs the frame: it breaks the graph."""
    if target is None:
        raise GraphBreak(INTROSPECTION, "vars()")
    found = attribute_or_none(tx, target, "__dict__")
    if found is None:
        raise_observed(tx, TypeError, "vars() argument must have __dict__ attribute")
    return found
