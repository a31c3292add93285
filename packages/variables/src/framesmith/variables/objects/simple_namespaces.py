"""`types.SimpleNamespace`: creation and comparison."""

from types import SimpleNamespace
from typing import Final

from framesmith.variables.builtin_types.dicts import make_dict_tracker
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.rows import Rows
from framesmith.variables.objects.instances import InstanceTracker
from framesmith.variables.operations.compare import compare

ROWS: Final = Rows()

ROWS.generic_access(SimpleNamespace)


@ROWS.call(SimpleNamespace)
def simple_namespace(tx: TraceContext, **attributes: Tracker) -> Tracker:
    """`SimpleNamespace(a=1)`."""
    instance = InstanceTracker(SimpleNamespace)
    simple_namespace_init(tx, instance, **attributes)
    return instance


@ROWS.call(SimpleNamespace.__init__)
def simple_namespace_init(tx: TraceContext, self: Tracker, /, **attributes: Tracker) -> Tracker:
    """`SimpleNamespace.__init__(self, a=1)`."""
    if not isinstance(self, InstanceTracker):
        return self.unsupported("its __init__")
    for name, value in attributes.items():
        self.store_own(tx, name, value)
    return Constant(None)


@ROWS.call(SimpleNamespace.__eq__)
def simple_namespace_eq(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
    """`SimpleNamespace.__eq__`: equal attributes; NotImplemented unless both are namespaces."""
    if not isinstance(self, InstanceTracker) or not isinstance(other, InstanceTracker):
        return Constant(NotImplemented)
    if not issubclass(other.cls, SimpleNamespace):
        return Constant(NotImplemented)
    return compare(tx, "==", _content(tx, self), _content(tx, other))


def _content(tx: TraceContext, namespace: InstanceTracker) -> Tracker:
    # An existing one may have attributes that the trace has not read; a
    # new one has what is pending, and no `__dict__`.
    if namespace.source is not None:
        return namespace.own.dictionary(tx, namespace)
    return make_dict_tracker([(Constant(name), value) for name, value in namespace.own.pending.items()])
