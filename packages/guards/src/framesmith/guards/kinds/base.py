"""What every claim is: a statement about one value, or a relation over several.

The concrete ones stand in the neighbouring files, one family a file.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from framesmith.guards.comparison import Comparable
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source


class Claim(Comparable, ABC):
    """What must still hold of one value.

    Concrete claims are frozen dataclasses with slots and `eq=False` (equality is `Comparable`'s).
    Invariants: a claim accepts the value it was captured from; `check` and the rendered text agree on every
    value, where an exception out of `MISSES` counts as "does not hold"; neither runs user code nor changes
    anything; the text evaluates its value in its first, unconditional part.
    """

    __slots__ = ()

    @abstractmethod
    def check(self, value: object) -> bool:
        """Whether it holds of the value."""

    @abstractmethod
    def render(self, value_expression: str, names: Names) -> str:
        """Python text, true when the claim holds; a comparison, a call, or an `and` of such."""

    @abstractmethod
    def explain(self, value: object, source: Source) -> str:
        """Why it does not hold of the value, in the user's words."""

    @abstractmethod
    def text(self, source: Source) -> str:
        """The claim as a line of a table."""

    def lowered(self, source: Source) -> "Sequence[tuple[Source, Claim]] | None":
        """The same statement as claims over sources that other guards share (instance dictionaries ...)."""
        return None


class Relation(Comparable, ABC):
    """What must still hold between several sources, or of the state of the process (no source at all)."""

    __slots__ = ()

    #: Whether the text reads every source whatever the values are; otherwise they are read beforehand.
    reads_all: ClassVar[bool] = True

    @property
    @abstractmethod
    def over(self) -> tuple[Source, ...]:
        """The sources it speaks about."""

    @abstractmethod
    def holds(self, values: Sequence[object]) -> bool:
        """Whether it holds of these values, in the order of `over`."""

    @abstractmethod
    def render(self, expressions: Sequence[str], names: Names) -> str:
        """Python text, true when the relation holds."""

    @abstractmethod
    def explain(self, values: Sequence[object]) -> str:
        """Why it does not hold, in the user's words."""

    @abstractmethod
    def text(self) -> str:
        """The relation as a line of a table."""


def shown(value: object, limit: int = 60) -> str:
    """The value for a message: short, on one line, and never an error of the user's `__repr__`."""
    if type(value).__repr__ is object.__repr__:
        return f"a {type(value).__name__}"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # the user's __repr__ may raise anything
        return f"a {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 3] + "..."
