"""The claim that a path leads somewhere: a look-up that found a value of which nothing else is known."""

from dataclasses import dataclass
from typing import final

from framesmith.guards.kinds.base import Claim
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True, eq=False)
class Present(Claim):
    """The source can be read. A source that cannot raises one of `MISSES`.

    Whoever looks a name, key or attribute up and finds it adds this claim: what the program does with the value
    afterwards, if anything, is guarded apart. It costs nothing where another guard or the entry reads the source.
    """

    def check(self, value: object) -> bool:
        return True

    def render(self, value_expression: str, names: Names) -> str:
        return f"({value_expression},)"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: is not there now"

    def text(self, source: Source) -> str:
        return f"{source.text()} is there"
