"""Closure cells: variables shared between functions."""

from collections.abc import Iterator
from types import CellType
from typing import Final, final

from framesmith.guards import Source
from framesmith.guards.kinds import EqualTo, Present, TypeIs
from framesmith.guards.sources import CallResult, CellContents, Own
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.wrap_rules import unread

ROWS: Final = Rows()


@final
class CellTracker(Tracker):
    """A cell. Invariant: `contents is None` means that it is empty (the variable is unbound)."""

    tells_changes = True

    def __init__(self, contents: Tracker | None = None, source: Source | None = None) -> None:
        self.contents = contents
        self.source = source
        self.is_stored = False

    @property
    def python_type(self) -> type:
        """`types.CellType`."""
        return CellType

    def read(self, tx: TraceContext) -> Tracker | None:
        """The contents, or None for an unbound variable; guards that an existing cell is filled, or empty."""
        # what the trace stored itself needs no guard
        if self.source is not None and not self.is_stored:
            if self.contents is None:
                # an empty cell has no contents that a source could load, so a function of the cell is asked
                tx.note("has its type", CallResult(self.source, is_empty_cell))
                tx.guard(CallResult(self.source, is_empty_cell), EqualTo(True))
            else:
                tx.note("is there", self.contents.source)
                tx.guard(self.contents.source, Present())
        return self.contents

    def store(self, tx: TraceContext, value: Tracker | None) -> None:
        """Bind or (None) unbind the variable."""
        tx.changes.note(self)
        self.contents = value
        self.is_stored = True

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


def is_empty_cell(cell: object) -> bool:
    """Whether the variable is unbound."""
    assert isinstance(cell, CellType)
    try:
        cell.cell_contents  # noqa: B018  # read for its error
    except ValueError:
        return True
    return False


@ROWS.wrap(CellType)
def _wrap_cell_value(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing cell, met as a value or as part of a closure; its contents are wrapped when they are read."""
    assert isinstance(value, CellType)
    if not isinstance(source, Own):  # what the closure of a function has is a cell
        tx.guard(source, TypeIs(CellType))
    try:
        contents = value.cell_contents
    except ValueError:
        return CellTracker(None, source)
    return CellTracker(unread(tx, contents, CellContents(source)), source)


def wrap_cell(tx: TraceContext, cell: CellType, source: Source) -> CellTracker:
    """The tracker of an existing cell: one per cell, whichever function it was reached from."""
    tracker = tx.wrap(cell, source)
    assert isinstance(tracker, CellTracker)
    return tracker
