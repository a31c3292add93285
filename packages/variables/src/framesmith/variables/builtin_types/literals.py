"""Constants of the user's code objects. They outlive the call: each call sees the same object.

A number or text is one object wherever it is named, so its constant is enough. A NaN or a tuple is not: they are
existing objects, pinned: what a code object holds does not change, so nothing of it is guarded.
"""

from framesmith.guards.sources import Pinned
from framesmith.variables.builtin_types.sets import SetTracker, build_set
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant, is_nan
from framesmith.variables.core.folding import from_python


def literal(tx: TraceContext, value: object) -> Tracker:
    """The tracker of a constant of a code object, with the identity of the object where it matters."""
    cls = type(value)
    # an empty tuple is one object wherever it is, as a small int is
    if cls is tuple and value:
        assert isinstance(value, tuple)
        return TupleTracker([literal(tx, item) for item in value], Pinned(value, "tuple"), value=value)
    if cls is frozenset:
        return _literal_set(tx, value)
    return Constant(value, Pinned(value, "nan")) if is_nan(value) else from_python(tx, value)


def _literal_set(tx: TraceContext, value: object) -> SetTracker:
    assert isinstance(value, frozenset)
    result = build_set(tx, value)
    result.source, result.value = Pinned(value, "frozenset"), value
    # keys stay the values, so that the order is that of the real set; the members get the identity of the constants
    result.members = {item: literal(tx, item) for item in value}
    return result
