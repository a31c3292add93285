"""The claim that no code of the user runs when a value ends."""

from dataclasses import dataclass
from typing import final

from framesmith.guards.finalized import ends_unseen
from framesmith.guards.kinds.base import Claim
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True, eq=False)
class EndsUnseen(Claim):
    """Dropping the value runs no code of the user (`ends_unseen`)."""

    def check(self, value: object) -> bool:
        return ends_unseen(value)

    def render(self, value_expression: str, names: Names) -> str:
        # what most calls give that are made for their effect
        return f"({value_expression} is None or {names.constant(ends_unseen, 'ends_unseen')}({value_expression}))"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: code of the program runs when it is dropped now"

    def text(self, source: Source) -> str:
        return f"dropping {source.text()} runs no code of the program"
