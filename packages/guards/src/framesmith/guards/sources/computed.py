"""A number that Python computes from other numbers of the call: `v * 2`, `x.size(0) / 3`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

from framesmith.guards.infix import Infix, write_call, write_formula, write_number
from framesmith.guards.names import Names, literal
from framesmith.guards.scope import Scope
from framesmith.guards.sources.base import Source
from framesmith.guards.words import a_type

Operand: TypeAlias = "Source | int | float | bool"
_NUMBERS: Final = frozenset({int, float, bool})


@final
@dataclass(frozen=True, slots=True, eq=False)
class Computed(Source):
    """`function(*operands)`, by the very function that the program calls, so that rounding, overflow, infinities,
    NaN and the sign of zero are Python's own. Where it raises, the value cannot be read: a miss.

    `name`: that of the function; `<1 + 2*v0>` for one that was made of a formula, whose `v0`, `v1` ... are the operands.
    Invariant: the guards on the operands say that they are numbers; reading refuses anything else.
    """

    function: Callable[..., object]
    operands: tuple[Operand, ...]
    name: str
    base: None = field(default=None, init=False, repr=False)

    def read(self, scope: Scope) -> object:
        values = [
            scope.value_of(operand) if isinstance(operand, Source) else operand for operand in self.operands
        ]
        for value in values:
            if type(value) not in _NUMBERS:
                raise TypeError(f"{self.text()} is computed from numbers, not from {a_type(type(value))}")
        return self.function(*values)

    def expression(self, names: Names) -> str:
        function = names.constant(self.function, self.name)
        parts = [
            names.source(operand) if isinstance(operand, Source) else _number(operand, names)
            for operand in self.operands
        ]
        return f"{function}({', '.join(parts)})"

    def text(self) -> str:
        try:
            return self._text
        except AttributeError:  # asked for the first time
            found = self.infix().text
            object.__setattr__(self, "_text", found)
            return found

    def infix(self) -> Infix:
        """The formula with Python's operators."""
        written = [_write(operand) for operand in self.operands]
        if self.name.startswith("<"):  # the function was made of a formula
            return write_formula(self.name[1:-1], written)
        return write_call(self.function, self.name, written)

    def leaves(self) -> Iterator[Source]:
        """The sources that it is computed from, through every level of computation."""
        for operand in self.operands:
            if isinstance(operand, Source):
                yield from operand.leaves()


def _write(operand: Operand) -> Infix:
    return write_source(operand) if isinstance(operand, Source) else write_number(operand)


def write_source(source: Source) -> Infix:
    """The text of any source as a part of a formula."""
    return source.infix() if isinstance(source, Computed) else Infix(source.text())


def _number(value: float, names: Names) -> str:
    # As a placeholder: the text of nan and inf is no literal.
    return names.constant(value, "number") if type(value) is float else literal(value, names, "number")
