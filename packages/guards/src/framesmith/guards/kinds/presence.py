"""The claim that a source can be read: a look-up found a value, and the trace knows nothing else about it."""

from dataclasses import dataclass
from typing import final

from framesmith.guards.kinds.base import Claim
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True, eq=False)
class Present(Claim):
    """The source can be read. A source that cannot raises one of `MISSES`.

    Each look-up of a name, key or attribute that succeeds adds this claim; what the program does with the value
    afterwards is guarded separately. It costs nothing where another guard or the entry reads the source.
    """

    def check(self, value: object) -> bool:
        return True

    def render(self, value_expression: str, names: Names) -> str:
        return f"({value_expression},)"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: is not there now"

    def text(self, source: Source) -> str:
        return f"{source.text()} is there"
