"""Claims about Python functions."""

from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import cast, final

from framesmith.guards.kinds.base import Claim, show_value
from framesmith.guards.kinds.identity import Identical
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.steps import Attribute


@final
@dataclass(frozen=True, slots=True, eq=False)
class CodeIs(Claim):
    """`function.__code__` is this very code object: the same `def`, whatever its closure and defaults are."""

    code: CodeType

    def comparison_fields(self) -> tuple[object, ...]:
        return (id(self.code),)

    def check(self, value: object) -> bool:
        # By identity: `==` would compare two code objects item by item.
        return cast(FunctionType, value).__code__ is self.code

    def render(self, value_expression: str, names: Names) -> str:
        return f"{value_expression}.__code__ is {names.constant(self.code, self.code.co_name)}"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: is another function now: expected {_where(self.code)}, found {show_value(value)}"

    def text(self, source: Source) -> str:
        return f"code of {source.text()} is {_where(self.code)}"

    def lower(self, source: Source) -> list[tuple[Source, Claim]]:
        return [(Attribute(source, "__code__"), Identical(self.code))]


def _where(code: CodeType) -> str:
    return f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno})"
