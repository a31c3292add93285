"""What both generators of random programs share: dice, names, templates, blocks of statements.

A composer says which expressions and statements there are; the texts stand in `statements` and `wild_statements`.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

Statement = Callable[[int, bool], list[str]]


def indented(lines: Sequence[str]) -> list[str]:
    """One level deeper."""
    return ["    " + line for line in lines]


class BaseComposer(ABC):
    """Writes one program. All choices come from `dice`, so the same dice give the same program and hypothesis can replay them.

    `budget` is how many statements the program may still get blocks for; after that all are simple.
    """

    plain: ClassVar[int]
    """How many in a hundred statements have no block."""

    def __init__(self, dice: random.Random, budget: int = 10**6) -> None:
        self.dice = dice
        self.names = 0
        self.budget = budget

    def one(self, options: Sequence[str]) -> str:
        return options[self.dice.randrange(len(options))]

    def chance(self, percent: int) -> bool:
        return self.dice.randrange(100) < percent

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def fill(self, template: str, depth: int) -> str:
        """Put expressions in place of `$T`, `$N`, ..., and variables in place of `$t`, `$n`, ..."""
        parts = template.split("$")
        return parts[0] + "".join(self.part(part[0], depth) + part[1:] for part in parts[1:])

    @abstractmethod
    def part(self, kind: str, depth: int) -> str:
        """What stands for one letter behind a `$`."""

    @abstractmethod
    def simple(self, loop: bool) -> list[str]:
        """A statement without a block."""

    @abstractmethod
    def compound(self) -> Sequence[Statement]:
        """The statements with blocks; one that stands twice is twice as likely."""

    def statement(self, depth: int, loop: bool = False) -> list[str]:
        """A statement, perhaps with blocks inside."""
        self.budget -= 1
        if depth == 0 or self.budget < 0 or self.chance(self.plain):
            return self.simple(loop)
        kinds = self.compound()
        return kinds[self.dice.randrange(len(kinds))](depth, loop)

    def block(self, depth: int, loop: bool = False, size: int = 3) -> list[str]:
        """A few statements; one where the budget is used up."""
        lines = self.statement(depth, loop)
        for _ in range(self.dice.randrange(size)):
            if self.budget > 0:
                lines += self.statement(depth, loop)
        return lines

    def inner(self, depth: int, loop: bool) -> list[str]:
        """The block under a head."""
        return indented(self.block(depth - 1, loop))

    def branched(self, condition: str, depth: int, loop: bool) -> list[str]:
        """An `if`, half of them with `else`."""
        lines = [f"if {condition}:", *self.inner(depth, loop)]
        return [*lines, "else:", *self.inner(depth, loop)] if self.chance(50) else lines
