"""Which function wraps a real value, by its type. The mechanism; the rules are next to their trackers."""

from collections.abc import Callable
from typing import final

from framesmith.guards import Source
from framesmith.guards.class_lookup import class_name
from framesmith.guards.kinds import Present
from framesmith.guards.sources import Attribute
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.lazy import Lazy
from framesmith.variables.core.table import DuplicateRow

WrapRule = Callable[[TraceContext, object, Source], Tracker]
WrapTest = Callable[[object], bool]


@final
class WrapRules:
    """The table of rules: the exact type decides first, then tests, lowest rank first."""

    def __init__(self) -> None:
        self._exact: dict[type, WrapRule] = {}
        self._tests: list[tuple[int, WrapTest, WrapRule]] = []

    def exact(self, *kinds: type) -> Callable[[WrapRule], WrapRule]:
        """Decorator: wrap values whose type is exactly one of `kinds`."""

        def register(rule: WrapRule) -> WrapRule:
            for kind in kinds:
                if kind in self._exact:
                    raise DuplicateRow(
                        f"values of {class_name(kind)} are wrapped already by {self._exact[kind]}"
                    )
                self._exact[kind] = rule
            return rule

        return register

    def when(self, rank: int, test: WrapTest) -> Callable[[WrapRule], WrapRule]:
        """Decorator: wrap values for which `test(value)` is true; tests with lower ranks come first."""

        def register(rule: WrapRule) -> WrapRule:
            self._tests.append((rank, test, rule))
            self._tests.sort(key=lambda row: row[0])
            return rule

        return register

    def exact_rules(self) -> dict[type, WrapRule]:
        """The rules by exact type (a copy)."""
        return dict(self._exact)

    def find(self, value: object) -> WrapRule | None:
        """The rule for a value, or None."""
        rule = self._exact.get(type(value))
        if rule is not None:
            return rule
        return next((rule for _, test, rule in self._tests if test(value)), None)


WRAP_RULES = WrapRules()


def lazy(tx: TraceContext, value: object, source: Source) -> Lazy:
    """A member of a wrapped value, not read yet. Its presence is guarded by the holder (its length, its keys)."""
    if not isinstance(source, Attribute):  # a field of a builtin type; slots are noted where they are read
        tx.note("is there", source)
    return Lazy(value, source, tx.wrap)


def looked_up(tx: TraceContext, value: object, source: Source) -> Lazy:
    """A value that a look-up found, not read yet. Its presence is
    guarded here, even if the program does not use the value."""
    tx.guard(source, Present(), "the trace looked it up")
    return lazy(tx, value, source)
