"""`itertools.groupby` and `itertools.tee`: iterators that share their input.

The other iterators of `itertools` are in `itertools_types` and `itertools_combining`.
"""

import itertools
from collections.abc import Iterator
from typing import final

from framesmith.variables.builtin_types.dict_iterators import advance_by
from framesmith.variables.builtin_types.iterators import IteratorTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.operations.index import known_equal


@final
class GroupByIterator(IteratorTracker):
    """`groupby(iterable, key)` (Modules/itertoolsmodule.c): `item` and `key` were read last, `target` is the key of the
    group that was returned last."""

    def __init__(self, part: Tracker, function: Tracker | None) -> None:
        self.part = part
        self.function = function
        self.item: Tracker | None = None
        self.key: Tracker | None = None
        self.target: Tracker | None = None
        self.group: GroupIterator | None = None

    @property
    def python_type(self) -> type:
        """`itertools.groupby`."""
        return itertools.groupby

    def step(self, tx: TraceContext) -> bool:
        """Read the next item and compute its key; False at the end."""
        item = self.part.advance(tx)
        if item is None:
            return False
        tx.changes.note(self)
        self.key = item if self.function is None else self.function.call(tx, [item], {})
        self.item = item
        return True

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """Skip to the next key, and return it with its group; the items left in the group before are lost."""
        # first, as in C: a group that was handed out before is at its end from here on
        self.group = None
        # nothing was read yet, or the items are still those of the group that was returned last
        while self.key is None or (self.target is not None and known_equal(tx, self.target, self.key)):
            if not self.step(tx):
                return None
        self.target, self.group = self.key, GroupIterator(self, self.key)
        return TupleTracker([self.key, self.group])

    def children(self) -> Iterator[Tracker]:
        """The iterator, the function, and the item and keys that are held."""
        parts = (self.part, self.function, self.item, self.key, self.target)
        return iter([part for part in parts if part is not None])

    def reconstruct(self, writer: Writer) -> str:
        """A call of `groupby`; breaks the graph after the first step, as the state cannot be put into a real one."""
        if self.key is not None:
            self.unsupported("building it again in mid-course")
        function = "None" if self.function is None else writer.value(self.function)
        return f"{writer.constant(itertools.groupby, 'groupby')}({writer.value(self.part)}, {function})"


@final
class GroupIterator(IteratorTracker):
    """One group of a `groupby`."""

    def __init__(self, owner: GroupByIterator, target: Tracker) -> None:
        self.owner = owner
        self.target = target

    @property
    def python_type(self) -> type:
        """`itertools._grouper`."""
        return type(next(itertools.groupby([0]))[1])

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next item while its key equals the key of the group; None afterwards, or once `groupby` went on."""
        owner = self.owner
        # groups share one input: one that is not the last cannot go on
        if owner.group is not self:
            return None
        # else the item was read already, by the search for the next key
        if owner.item is None and not owner.step(tx):
            return None
        assert owner.key is not None
        if not known_equal(tx, self.target, owner.key):
            return None
        tx.changes.note(self)
        item, owner.item = owner.item, None
        return item

    def children(self) -> Iterator[Tracker]:
        """The `groupby`."""
        yield self.owner


@final
class TeeSource(Tracker):
    """The state that the iterators of one `tee` share: the items read so far, and the iterator of the others."""

    def __init__(self, part: Tracker, count: int) -> None:
        self.part = part
        self.count = count
        self.taken: list[Tracker] = []
        self._is_read = False

    @property
    def python_type(self) -> type:
        """`tuple`, the type of what `tee` returns."""
        return tuple

    def take(self, tx: TraceContext) -> Tracker | None:
        """The next item of the input, or None; breaks the graph where reading it asks a `tee` for an item, which is a
        RuntimeError."""
        if self._is_read:
            self.unsupported("reading a tee in the midst of reading it")
        self._is_read = True
        try:
            return self.part.advance(tx)
        finally:
            self._is_read = False

    def children(self) -> Iterator[Tracker]:
        """The items read so far, and the iterator of the others."""
        return iter([*self.taken, self.part])

    def reconstruct(self, writer: Writer) -> str:
        """A `tee` over the items read so far and the remaining ones."""
        # all that any of them has taken: those that lag behind are still to give them
        items = "".join([f"{writer.value(item)}, " for item in self.taken])
        chain = writer.constant(itertools.chain, "chain")
        tee = writer.constant(itertools.tee, "tee")
        # one `tee` for all, so that they share their input as before
        return f"{tee}({chain}(({items}), {writer.value(self.part)}), {self.count})"


@final
class TeeIterator(IteratorTracker):
    """One of the iterators of a `tee`; `place` is its index among the shared items."""

    def __init__(self, shared: TeeSource, number: int) -> None:
        self.shared = shared
        self.number = number
        self.place = 0

    @property
    def python_type(self) -> type:
        """`itertools._tee`."""
        return type(itertools.tee(())[0])

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """A shared item, or a new one, which is kept for the other iterators of the `tee`."""
        tx.changes.note(self)
        if self.place == len(self.shared.taken):
            item = self.shared.take(tx)
            if item is None:
                return None
            self.shared.taken.append(item)
        self.place += 1
        return self.shared.taken[self.place - 1]

    def children(self) -> Iterator[Tracker]:
        """The shared state."""
        yield self.shared

    def reconstruct(self, writer: Writer) -> str:
        """The iterator of a new `tee`, advanced to its index."""
        text = f"{writer.value(self.shared)}[{self.number}]"
        if not self.place:
            return text
        name = writer.define(self, text, "iterator")
        writer.statement(f"{writer.constant(advance_by, 'advance_by')}({name}, {self.place})")
        return name
