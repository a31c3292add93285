"""Claims that a value is one particular object, or None, or not None."""

import weakref
from dataclasses import dataclass
from typing import final

from framesmith.guards.kinds.base import Claim, show_value
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True, eq=False)
class Identical(Claim):
    """The value is this very object, held strongly: for objects that outlive the compiled function anyway."""

    value: object

    def comparison_fields(self) -> tuple[object, ...]:
        return (id(self.value),)

    def check(self, value: object) -> bool:
        return value is self.value

    def render(self, value_expression: str, names: Names) -> str:
        if self.value is None or self.value is True or self.value is False:
            return f"{value_expression} is {self.value}"
        return f"{value_expression} is {names.constant(self.value, _hint(self.value))}"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: is another object now: expected {show_value(self.value)}, found {show_value(value)}"

    def text(self, source: Source) -> str:
        return f"{source.text()} is {show_value(self.value)}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class NotIdentical(Claim):
    """The value is any object but this one (held strongly)."""

    value: object

    def comparison_fields(self) -> tuple[object, ...]:
        return (id(self.value),)

    def check(self, value: object) -> bool:
        return value is not self.value

    def render(self, value_expression: str, names: Names) -> str:
        return f"{value_expression} is not {names.constant(self.value, _hint(self.value))}"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: is {show_value(self.value)} now"

    def text(self, source: Source) -> str:
        return f"{source.text()} is not {show_value(self.value)}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class WeaklyIdentical(Claim):
    """The value is this very object, held weakly: for what may die before the compiled function (ADR 0014).

    False for every value once the object is dead.
    """

    reference: weakref.ReferenceType[object]

    @classmethod
    def capture(cls, value: object) -> "WeaklyIdentical":
        """The claim that the value is this object. Raises TypeError if its type allows no weak references."""
        return cls(weakref.ref(value))

    def comparison_fields(self) -> tuple[object, ...]:
        return (id(self.reference),)

    def check(self, value: object) -> bool:
        # A dead reference gives None, and a source may give None too.
        return value is self.reference() and value is not None

    def render(self, value_expression: str, names: Names) -> str:
        # One chain: the referent is asked for once, and cannot die in between.
        return f"{value_expression} is {names.constant(self.reference, 'reference')}() is not None"

    def explain(self, value: object, source: Source) -> str:
        expected = self.reference()
        what = "one that is gone" if expected is None else show_value(expected)
        return f"{source.text()}: is another object now: expected {what}, found {show_value(value)}"

    def text(self, source: Source) -> str:
        return f"{source.text()} is {show_value(self.reference())} (held weakly)"


def _hint(value: object) -> str:
    cls = value if issubclass(type(value), type) else type(value)
    return str(type.__getattribute__(cls, "__name__"))
