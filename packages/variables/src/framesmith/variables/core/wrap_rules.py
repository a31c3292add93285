"""Which function wraps a real value, by its type. The mechanism; the rules are next to their trackers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from framesmith.graph.inputs.inputs import is_subclass
from framesmith.guards import Source
from framesmith.guards.kinds import Present
from framesmith.guards.sources import Attribute
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.lazy import Lazy
from framesmith.variables.core.registry import Registry, Table

WrapRule = Callable[[TraceContext, object, Source], Tracker]
TypeTest = Callable[[Registry, type], bool]
WrapTest = Callable[[Registry, object], bool]


@final
@dataclass(frozen=True, slots=True, eq=False)
class TestedRule:
    """A rule for values of the types for which `of_type` is true. `of_value`: whether it wraps this value of such a type; None if it
    wraps all of them."""

    of_type: TypeTest
    of_value: WrapTest | None
    rule: WrapRule


EXACT: Final = Table[type, WrapRule]("wrap rules by exact type")
"""The exact type decides first."""
TESTS: Final = Table[int, TestedRule]("wrap rules by a test", in_order=True)
"""Then the first test that holds, by rank, lowest first."""


@final
class WrapRules:
    """The rules of one trace. What the type of a value decides is found once for each type; metaclasses hash types as `type` does."""

    def __init__(self) -> None:
        self._tested: dict[type, list[TestedRule]] = {}

    def find(self, registry: Registry, value: object) -> WrapRule | None:
        """The rule that wraps a value, or None."""
        cls = type(value)
        rule = registry[EXACT].get(cls)
        if rule is not None:
            return rule
        tested = self._tested.get(cls)
        if tested is None:
            tested = self._tested[cls] = _rules_of_type(registry, cls)
        for one in tested:
            if one.of_value is None or one.of_value(registry, value):
                return one.rule
        return None

    def release(self) -> None:
        """The trace has ended: hold no class of the user."""
        self._tested.clear()


def _rules_of_type(registry: Registry, cls: type) -> list[TestedRule]:
    """The rules that may wrap values of a type, in order, up to the first that wraps all of them."""
    found: list[TestedRule] = []
    for one in registry[TESTS].values():
        if one.of_type(registry, cls):
            found.append(one)
            if one.of_value is None:
                break
    return found


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
