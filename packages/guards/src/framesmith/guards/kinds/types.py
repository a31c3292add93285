"""Claims about the type of a value."""

from dataclasses import dataclass
from typing import final

from framesmith.guards.class_lookup import class_name
from framesmith.guards.kinds.base import Claim, shown
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True, eq=False)
class TypeIs(Claim):
    """`type(value)` is this very class; subclasses do not pass."""

    expected: type

    def compared(self) -> tuple[object, ...]:
        return (id(self.expected),)

    def check(self, value: object) -> bool:
        return type(value) is self.expected

    def render(self, value_expression: str, names: Names) -> str:
        return f"{names.constant(type, 'type')}({value_expression}) is {names.constant(self.expected, class_name(self.expected))}"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: type changed from {_named(self.expected)} to {_named(type(value))}"

    def text(self, source: Source) -> str:
        return f"type({source.text()}) is {_named(self.expected)}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class SequenceTypes(Claim):
    """The types of the items of a list or tuple, in order: one check for many small values."""

    types: tuple[type, ...]

    def compared(self) -> tuple[object, ...]:
        return tuple(map(id, self.types))

    def check(self, value: object) -> bool:
        return isinstance(value, list | tuple) and [*map(type, value)] == [*self.types]

    def render(self, value_expression: str, names: Names) -> str:
        check = names.constant(self.check, "types")
        return f"{check}({value_expression})"

    def explain(self, value: object, source: Source) -> str:
        if not isinstance(value, list | tuple):
            return f"{source.text()}: was a sequence, is {shown(value)} now"
        if len(value) != len(self.types):
            return f"{source.text()}: length changed from {len(self.types)} to {len(value)}"
        for index, (item, expected) in enumerate(zip(value, self.types, strict=True)):
            if type(item) is not expected:
                return (
                    f"{source.text()}[{index}]: type changed from {_named(expected)} to {_named(type(item))}"
                )
        return f"{source.text()}: the types of its items changed"

    def text(self, source: Source) -> str:
        return f"types of {source.text()} are [{', '.join(map(_named, self.types))}]"


def _named(cls: type) -> str:
    """The class as the user writes it: builtins bare, others with their module."""
    try:
        module, name = (type.__getattribute__(cls, each) for each in ("__module__", "__qualname__"))
    except AttributeError:  # classes that C code makes may lack a module
        return cls.__name__
    return str(name) if module == "builtins" else f"{module}.{name}"
