"""Which function wraps a real value, by its type. The mechanism; rows stand beside their trackers."""

from collections.abc import Callable
from typing import final

from framesmith.guards import Source
from framesmith.guards.kinds import Present
from framesmith.guards.sources import Attribute
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.lazy import Lazy
from framesmith.variables.core.table import DuplicateRow

WrapRule = Callable[[TraceContext, object, Source], Tracker]
WrapTest = Callable[[object], bool]


@final
class WrapRules:
    """Exact types first, then ordered tests (lowest rank first), then nothing."""

    def __init__(self) -> None:
        self._exact: dict[type, WrapRule] = {}
        self._tests: list[tuple[int, WrapTest, WrapRule]] = []

    def exact(self, *kinds: type) -> Callable[[WrapRule], WrapRule]:
        """Decorator: wrap values whose type is exactly one of `kinds`."""

        def register(rule: WrapRule) -> WrapRule:
            for kind in kinds:
                if kind in self._exact:
                    raise DuplicateRow(
                        f"values of {kind.__name__} are wrapped already by {self._exact[kind]}"
                    )
                self._exact[kind] = rule
            return rule

        return register

    def when(self, rank: int, test: WrapTest) -> Callable[[WrapRule], WrapRule]:
        """Decorator: wrap values for which `test(value)` is true; lower ranks are asked first."""

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
    """A member of a wrapped value, not looked at yet. That it is there is guarded by its holder (its length, its keys)."""
    if not isinstance(source, Attribute):  # a field of a builtin type; slots are noted by whoever reads them
        tx.note("is there", source)
    return Lazy(value, source, tx.wrap)


def looked_up(tx: TraceContext, value: object, source: Source) -> Lazy:
    """What a look-up found, not looked at yet. That it is there is a fact, whatever the program does with it."""
    tx.guard(source, Present(), "the trace looked it up")
    return lazy(tx, value, source)
