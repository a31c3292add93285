"""Which function wraps a real value, by its type. The mechanism; the rules are next to their trackers."""

from collections.abc import Callable
from typing import Final

from framesmith.graph.inputs.inputs import is_subclass
from framesmith.guards import Source
from framesmith.guards.kinds import Present
from framesmith.guards.sources import Attribute
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.lazy import Lazy
from framesmith.variables.core.registry import Registry, Table

WrapRule = Callable[[TraceContext, object, Source], Tracker]
WrapTest = Callable[[Registry, object], bool]

EXACT: Final = Table[type, WrapRule]("wrap rules by exact type")
"""The exact type decides first."""
TESTS: Final = Table[int, tuple[WrapTest, WrapRule]]("wrap rules by a test", in_order=True)
"""Then the first test that holds, by rank, lowest first."""


def wrap_rule(registry: Registry, value: object) -> WrapRule | None:
    """The rule that wraps a value, or None."""
    rule = registry[EXACT].get(type(value))
    if rule is not None:
        return rule
    return next((rule for test, rule in registry[TESTS].values() if test(registry, value)), None)


def lazy(tx: TraceContext, value: object, source: Source) -> Lazy:
    """A member of a wrapped value, not read yet. Its presence is guarded by the holder (its length, its keys)."""
    if not isinstance(source, Attribute):  # a field of a builtin type; slots are noted where they are read
        tx.note("is there", source)
    return unread(tx, value, source)


def unread(tx: TraceContext, value: object, source: Source) -> Lazy:
    """A value that is not read yet, of whose presence nothing is noted."""
    # Before it is read: a list of tensors, as of `torch.cat`, is looked into only once calls are looked at.
    if not tx.changes.overrides.is_watched and is_subclass(type(value)):
        tx.changes.overrides.is_watched = True
    return Lazy(value, source, tx.wrap)


def wrap_found(tx: TraceContext, value: object, source: Source) -> Lazy:
    """A value that a look-up found, not read yet. Its presence is
    guarded here, even if the program does not use the value."""
    tx.guard(source, Present(), "the trace looked it up")
    return lazy(tx, value, source)
