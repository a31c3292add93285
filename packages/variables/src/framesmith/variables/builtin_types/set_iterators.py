"""Iterators over sets, which raise when the set changed."""

from collections.abc import Iterator
from typing import Protocol, final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNKNOWN_ITERATOR
from framesmith.variables.builtin_types.dict_iterators import advance_by
from framesmith.variables.builtin_types.iterators import IteratorTracker
from framesmith.variables.builtin_types.set_items import is_exact
from framesmith.variables.builtin_types.set_recipes import Content
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.raising import raise_observed


class Layout(Protocol):
    """The state of a set: its items, and whether their order is known to be that of the real set."""

    content: Content
    order_known: bool


@final
class SetIterator(IteratorTracker):
    """`iter(set)`. Invariant: `owner is None` once exhausted."""

    def __init__(self, owner: Tracker, layout: Layout, items: list[Tracker]) -> None:
        self.owner: Tracker | None = owner
        self.layout = layout
        self.items = items
        # a copy, since `content` is changed in place
        self.keys = frozenset(layout.content)
        self.index = 0
        self.spoiled = False

    @property
    def python_type(self) -> type:
        """`set_iterator`."""
        return type(iter(set()))

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next member, or None; RuntimeError when the size
        changed, a graph break when other members replaced some."""
        tx.changes.note(self)
        if self.owner is None:
            return None
        # CPython makes the error sticky
        if self.spoiled or len(self.layout.content) != len(self.items):
            self.spoiled = True
            raise_observed(tx, RuntimeError, "Set changed size during iteration")
        # CPython goes on through the table as it is, whose layout decides what comes
        if self.layout.content != self.keys:
            raise GraphBreak(UNKNOWN_ITERATOR, "a set changed while it was iterated over")
        if self.index >= len(self.items):
            self.owner = None
            return None
        self.index += 1
        return self.items[self.index - 1]

    @property
    def is_rebuildable(self) -> bool:
        """Whether the set has the members that it had when the iterator was made, or is of no matter any more."""
        return self.owner is None or not (self.spoiled or self.layout.content != self.keys)

    def children(self) -> Iterator[Tracker]:
        """The set and the remaining items."""
        return iter(() if self.owner is None else (self.owner, *self.items[self.index :]))

    def reconstruct(self, writer: Writer) -> str:
        """An iterator over the set, advanced to its index; breaks
        the graph where the real set may have another order."""
        make = writer.constant(iter, "iter")
        if self.owner is None:
            return f"{make}({writer.constant(set, 'set')}())"
        if not self.is_rebuildable:
            self.unsupported("building it again after its set changed")
        # an existing set keeps its layout; a new one has that of `content` only where all hashes are real
        is_real = self.owner.source is not None or all(map(is_exact, self.layout.content))
        if self.index and not (self.layout.order_known and is_real):
            self.unsupported("building it again in mid-course")
        name = writer.define(self, f"{make}({writer.value(self.owner)})", "iterator")
        if self.index:
            writer.statement(f"{writer.constant(advance_by, 'advance_by')}({name}, {self.index})")
        return name
