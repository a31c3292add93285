"""Claims about the type of a value."""

from dataclasses import dataclass
from typing import final

from framesmith.guards.class_lookup import class_name
from framesmith.guards.kinds.base import Claim
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True, eq=False)
class TypeIs(Claim):
    """`type(value)` is this very class; subclasses do not pass."""

    expected: type

    def comparison_fields(self) -> tuple[object, ...]:
        return (id(self.expected),)

    def check(self, value: object) -> bool:
        return type(value) is self.expected

    def render(self, value_expression: str, names: Names) -> str:
        return f"{names.constant(type, 'type')}({value_expression}) is {names.constant(self.expected, class_name(self.expected))}"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: type changed from {_named(self.expected)} to {_named(type(value))}"

    def text(self, source: Source) -> str:
        return f"type({source.text()}) is {_named(self.expected)}"


def _named(cls: type) -> str:
    """The class as the user writes it: builtins bare, others with their module."""
    try:
        module, name = (type.__getattribute__(cls, each) for each in ("__module__", "__qualname__"))
    except AttributeError:  # classes that C code makes may lack a module
        return cls.__name__
    return str(name) if module == "builtins" else f"{module}.{name}"
