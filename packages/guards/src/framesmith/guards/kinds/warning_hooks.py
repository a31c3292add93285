"""The claim that showing a warning runs no code of the user."""

from dataclasses import dataclass
from typing import final

from framesmith.guards.kinds.base import Claim
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source
from framesmith.guards.warning_hooks import is_shown_plainly


@final
@dataclass(frozen=True, slots=True, eq=False)
class ShowsWarningsPlainly(Claim):
    """Of the module `warnings`: what it shows is only written to a file or appended to a list (`is_shown_plainly`)."""

    def check(self, value: object) -> bool:
        return is_shown_plainly()

    def render(self, value_expression: str, names: Names) -> str:
        # the value is the module itself, which the function reads
        return f"{value_expression} and {names.constant(is_shown_plainly, 'is_shown_plainly')}()"

    def explain(self, value: object, source: Source) -> str:
        return "showing a warning runs code of the program now: showwarning, formatwarning or sys.stderr"

    def text(self, source: Source) -> str:
        return "showing a warning runs no code of the program"
