"""Closure cells: variables shared between functions."""

from collections.abc import Iterator
from types import CellType
from typing import final

from framesmith.guards import Source
from framesmith.guards.kinds import TypeIs
from framesmith.guards.sources import CellContents
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.wrap_rules import WRAP_RULES, lazy


@final
class CellTracker(Tracker):
    """A cell. Invariant: `contents is None` means that it is empty (the variable is unbound)."""

    def __init__(self, contents: Tracker | None = None, source: Source | None = None) -> None:
        self.contents = contents
        self.source = source

    @property
    def python_type(self) -> type:
        """`types.CellType`."""
        return CellType

    def store(self, tx: TraceContext, value: Tracker | None) -> None:
        """Bind or (None) unbind the variable."""
        tx.mutations.note(self)
        self.contents = value

    def children(self) -> Iterator[Tracker]:
        """The contents."""
        return iter(() if self.contents is None else (self.contents,))

    def reconstruct(self, writer: Writer) -> str:
        """A new cell; its contents are filled in afterwards, since they may refer to it."""
        name = writer.define(self, f"{writer.constant(CellType, 'CellType')}()", "cell")
        if self.contents is not None:
            writer.statement(f"{name}.cell_contents = {writer.value(self.contents)}")
        return name

    def replay(self, writer: Writer) -> None:
        """Store the new contents into the existing cell."""
        assert self.source is not None
        place = writer.load(self.source)
        if self.contents is None:
            writer.statement(f"del {place}.cell_contents")
        else:
            writer.statement(f"{place}.cell_contents = {writer.value(self.contents)}")


@WRAP_RULES.exact(CellType)
def _wrap_cell_value(tx: TraceContext, value: object, source: Source) -> Tracker:
    """A cell met as a value; its contents are looked at only when read."""
    assert isinstance(value, CellType)
    tx.guard(source, TypeIs(CellType))
    try:
        contents = value.cell_contents
    except ValueError:
        return CellTracker(None, source)
    return CellTracker(lazy(tx, contents, CellContents(source)), source)


def wrap_cell(tx: TraceContext, cell: CellType, source: Source) -> CellTracker:
    """The tracker of an existing cell: one per cell, whichever function it was reached from."""
    tracker = tx.wrap(cell, source)
    assert isinstance(tracker, CellTracker)
    return tracker
