"""What a trace read of real objects, as data, for the check that a guard covers it (`facts`). It is kept in tests only."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True)
class Fact:
    """Something read: `what` is a row of the rules in `facts`; `name` the key, attribute or class it is about; `where` the user's line."""

    what: str
    source: Source
    name: object = None
    where: str = ""

    def text(self) -> str:
        """The fact as a line of a list."""
        about = "" if self.name is None else f" {self.name!a}"
        return f"{self.what}{about}: {self.source.text()} (read at {self.where or 'an unknown line'})"


@final
class FactLog:
    """What one trace read, in order."""

    def __init__(self, where: Callable[[], str]) -> None:
        self._where = where
        self.facts: dict[tuple[str, Source, object], Fact] = {}

    def note(self, what: str, source: Source | None, name: object = None) -> None:
        """Note a fact about a real object; without a source (a value made in the trace) nothing is noted."""
        if source is not None and (what, source, name) not in self.facts:
            self.facts[what, source, name] = Fact(what, source, name, self._where())
