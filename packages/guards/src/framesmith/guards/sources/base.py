"""What every source is. The concrete ones are in the neighbouring files, one family a file."""

from abc import abstractmethod
from collections.abc import Iterator

from framesmith.guards.comparison import Comparable
from framesmith.guards.names import Names
from framesmith.guards.scope import Scope


class Source(Comparable):
    """Where a value came from: a root, or another source and one path element.

    Concrete sources are frozen dataclasses with slots and `eq=False` (equality is `Comparable`'s).
    Invariants: `read` and the text of `expression` give the same object, or both raise one of `MISSES`;
    reading runs no user code as long as the guards on the base hold; `expression` is a primary expression, so
    that a path element may be appended to it.
    """

    __slots__ = ("_text",)
    base: "Source | None"
    _text: str
    """A memory of classes whose text is asked for often."""

    def __post_init__(self) -> None:
        """Compute the hash now: the base has computed its own, so that long paths do not recurse."""
        hash(self)

    @abstractmethod
    def read(self, scope: Scope) -> object:
        """The present value, read by Python; raises one of `MISSES` if the path is gone."""

    @abstractmethod
    def expression(self, names: Names) -> str:
        """Python text (a primary expression) that gives the value."""

    @abstractmethod
    def text(self) -> str:
        """The path as the user would write it."""

    def is_direct(self) -> bool:
        """Whether the text is a plain name, so that no temporary would be cheaper."""
        return False

    def leaves(self) -> "Iterator[Source]":
        """The source itself; for a computed number the sources that it is computed from."""
        yield self

    def ancestors(self) -> Iterator["Source"]:
        """The bases, nearest first."""
        base = self.base
        while base is not None:
            yield base
            base = base.base
