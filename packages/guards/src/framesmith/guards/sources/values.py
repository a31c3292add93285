"""Several values in one list, for a call that takes all of them: `graph(x, *values)`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import final

from framesmith.guards.names import Names
from framesmith.guards.scope import Scope
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True, eq=False)
class ValuesOf(Source):
    """The values of these sources, in a list. A generated check that has read them gives the list that it has."""

    sources: tuple[Source, ...]
    base: None = field(default=None, init=False, repr=False)

    def read(self, scope: Scope) -> object:
        # past the memory of the scope: hardly anything else reads them
        return [source.read(scope) for source in self.sources]

    def expression(self, names: Names) -> str:
        return f"[{', '.join(map(names.source, self.sources))}]"

    def text(self) -> str:
        return f"{self.sources[0].text()} and {len(self.sources) - 1} more"

    def leaves(self) -> Iterator[Source]:
        """The sources."""
        for source in self.sources:
            yield from source.leaves()
