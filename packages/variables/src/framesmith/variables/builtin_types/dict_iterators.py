"""Iterators over dicts and their views: they notice that the dict changed.

The dict is in `builtin_types.dicts`, its views in `builtin_types.dict_views`.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Final, final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNKNOWN_ITERATOR
from framesmith.guards.class_lookup import class_name
from framesmith.variables.builtin_types.dict_items import DictItem, DictItems
from framesmith.variables.builtin_types.iterators import IteratorTracker
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.raising import raise_observed

KEY_ITERATOR: Final[type] = type(iter({}))
ORDERED_ITERATOR: Final[type] = type(iter(OrderedDict[object, object]()))


@final
class DictIterator(IteratorTracker):
    """Iterates over the items that the dict had when it was made. Invariant: `owner is None` once exhausted.

    CPython (Objects/dictobject.c, Objects/odictobject.c) raises when the size changed. A dict whose keys changed
    while its size did not is iterated in an order that depends on its memory layout: the graph breaks.
    """

    def __init__(
        self,
        owner: Tracker,
        state: DictItems,
        pick: Callable[[DictItem], Tracker],
        cls: type,
        text: str,
        backwards: bool = False,
    ) -> None:
        self.owner: Tracker | None = owner
        self.state = state
        self.pick = pick
        self.cls = cls
        self.text = text
        known_items: Sequence[DictItem] = list(state.by_name.values())
        self.known_items = known_items[::-1] if backwards else known_items
        self.index = 0
        self.versions = (state.structure, state.moves)
        self.spoiled = False

    @property
    def python_type(self) -> type:
        """The type of CPython: `dict_keyiterator`, `odict_iterator` ..."""
        return self.cls

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next key, value or pair, or None at the end; RuntimeError when the dict changed its size."""
        tx.changes.note(self)
        if self.owner is None:
            return None
        # before the end is looked at: CPython raises after the last item too
        self._check_unchanged(tx)
        if self.index >= len(self.known_items):
            self.owner = None
            return None
        self.index += 1
        return self.pick(self.known_items[self.index - 1])

    def _check_unchanged(self, tx: TraceContext) -> None:
        if self.cls is ORDERED_ITERATOR and self.state.structure != self.versions[0]:
            # an iterator of an OrderedDict is exhausted once it has raised, one of a dict raises again each time
            self.owner = None
            raise_observed(tx, RuntimeError, "OrderedDict mutated during iteration")
        if self.spoiled or len(self.state.by_name) != len(self.known_items):
            self.spoiled = True
            raise_observed(tx, RuntimeError, "dictionary changed size during iteration")
        if self._has_moved():
            raise GraphBreak(UNKNOWN_ITERATOR, "the keys of a dict changed while it was iterated over")

    def _has_moved(self) -> bool:
        return (self.state.structure, self.state.moves) != self.versions

    @property
    def is_rebuildable(self) -> bool:
        """Whether the dict is as it was when the iterator was made, or is of no matter any more."""
        return self.owner is None or not (self.spoiled or self._has_moved())

    def children(self) -> Iterator[Tracker]:
        """The dict."""
        return iter(() if self.owner is None else (self.owner,))

    def reconstruct(self, writer: Writer) -> str:
        """An iterator over the dict, advanced to the same position; breaks the graph when the dict changed since."""
        make = writer.constant(iter, "iter")
        backwards = writer.constant(reversed, "reversed")
        if self.owner is None:
            # exhausted for good in CPython: an iterator over its dict would go on if that grew
            kind = OrderedDict if self.cls is ORDERED_ITERATOR else dict
            empty = f"{writer.constant(kind, class_name(kind))}()"
            return self.text.format(empty, iter=make, reversed=backwards)
        if not self.is_rebuildable:
            self.unsupported("building it again after its dict changed")
        text = self.text.format(writer.value(self.owner), iter=make, reversed=backwards)
        name = writer.define(self, text, "iterator")
        if self.index:
            step = writer.constant(advance_by, "advance_by")
            writer.statement(f"{step}({name}, {self.index})")
        return name


def advance_by(iterator: Iterator[object], count: int) -> None:
    """Take `count` items out of a builtin iterator."""
    for _ in range(count):
        next(iterator)
