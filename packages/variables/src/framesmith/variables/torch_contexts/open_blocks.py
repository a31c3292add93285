"""Blocks of context managers that a trace has entered and not left: the entry enters them where the trace ends."""

from collections.abc import Callable, Iterator
from typing import final

from framesmith.guards.sources import Pinned
from framesmith.variables.core import Tracker, Writer


@final
class OpenBlock(Tracker):
    """A block that is still open where the trace ends, which is replayed as a change of torch's state.

    `entered` is the class or function that enters it, `enter` writes that for the owner: a context manager or a mode, which is new
    and has no source, so that the log would not replay it.
    """

    def __init__(
        self, owner: Tracker, entered: Callable[..., object], enter: Callable[[Tracker, Writer], object]
    ) -> None:
        self.owner = owner
        self.entered = entered
        self._enter = enter
        # Any source will do: it makes the log replay the block. It is never loaded.
        self.source = Pinned(entered, entered.__name__)

    @property
    def python_type(self) -> type:
        """The type of the owner."""
        return self.owner.python_type

    def children(self) -> Iterator[Tracker]:
        """The owner."""
        yield self.owner

    def replay(self, writer: Writer) -> None:
        """Enter the block."""
        self._enter(self.owner, writer)
