"""The iterators of `itertools` that pass items on: chain, islice, count, repeat, cycle, takewhile and dropwhile.

After the graph each is reconstructed as a fresh iterator over the remaining items: `islice(rest, 0, 3)` for an
`islice` with three items left. Those that combine items are in `itertools_combining`, the rows that make them in
`callables.itertools_rows`.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import final

from framesmith.guards import Source
from framesmith.guards.class_lookup import class_name
from framesmith.variables.builtin_types.dict_iterators import advance_by
from framesmith.variables.builtin_types.iterators import IteratorTracker
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.operations.binary import binary
from framesmith.variables.operations.truth import known_truth


def write_tuple(writer: Writer, items: Sequence[Tracker]) -> str:
    """The source text of a tuple display."""
    return f"({''.join([f'{writer.value(item)}, ' for item in items])})"


@final
class ChainIterator(IteratorTracker):
    """`chain(*iterables)`: `outer` gives the iterables, `inner` is the iterator of the present one."""

    def __init__(self, outer: Tracker) -> None:
        self.outer: Tracker | None = outer
        self.inner: Tracker | None = None

    @property
    def python_type(self) -> type:
        """`itertools.chain`."""
        return itertools.chain

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next item of the present iterator, or of the first of the following ones that has any."""
        tx.changes.note(self)
        while self.outer is not None:
            if self.inner is None:
                iterable = self.take(tx, self.outer)
                if iterable is None:
                    self.outer = None
                    return None
                self.inner = iterable.realize().iterate(tx).realize()
            item = self.take(tx, self.inner)
            if item is not None:
                return item
            self.inner = None
        return None

    def children(self) -> Iterator[Tracker]:
        """Both iterators."""
        return iter([part for part in (self.inner, self.outer) if part is not None])

    def reconstruct(self, writer: Writer) -> str:
        """A `chain` of the rest of the present iterator and of the iterables after it."""
        chain = writer.constant(itertools.chain, "chain")
        if self.outer is None:
            return f"{chain}()"
        outer = writer.value(self.outer)
        # the present iterator is given as it is: calling `iter` on it gives itself
        if self.inner is not None:
            outer = f"{chain}(({writer.value(self.inner)},), {outer})"
        return f"{chain}.from_iterable({outer})"


@final
class SliceIterator(IteratorTracker):
    """`islice`: gives the items at `start`, `start + step` ... below `stop`, counted from the present position."""

    def __init__(self, part: Tracker, start: int, stop: int | None, step: int) -> None:
        self.part: Tracker | None = part
        self.start = start
        self.stop = stop
        self.step = step

    @property
    def python_type(self) -> type:
        """`itertools.islice`."""
        return itertools.islice

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next item, or None; skips items as CPython's `islice_next` does."""
        tx.changes.note(self)
        if self.part is None:
            return None
        item = self._take_next(tx, self.part)
        if item is None:  # a generator that nothing else holds is closed at once
            tx.changes.let_go.append(self.part)
            self.part = None
            return None
        if self.stop is not None:
            self.stop -= self.start + 1
        self.start = self.step - 1
        if self.stop is not None and self.start > self.stop:
            self.start = self.stop  # CPython steps no further than `stop`
        return item

    def _take_next(self, tx: TraceContext, part: Tracker) -> Tracker | None:
        # not past `stop`: items behind it stay in the input, which the program may share
        skip = self.start if self.stop is None else min(self.start, self.stop)
        for _ in range(skip):
            if self.take(tx, part) is None:
                return None
        return None if self.stop is not None and self.start >= self.stop else self.take(tx, part)

    def children(self) -> Iterator[Tracker]:
        """The iterator."""
        return iter(() if self.part is None else (self.part,))

    def reconstruct(self, writer: Writer) -> str:
        """An `islice` with the same positions, counted from the present one."""
        make = writer.constant(itertools.islice, "islice")
        if self.part is None:
            return f"{make}((), 0)"
        return f"{make}({writer.value(self.part)}, {self.start}, {self.stop}, {self.step})"


@final
class CountIterator(IteratorTracker):
    """`count(start, step)`; of an existing one `taken` numbers were taken."""

    def __init__(self, number: Tracker, step: Tracker, source: Source | None = None) -> None:
        self.number = number
        self.step = step
        self.source = source
        self.taken = 0

    @property
    def python_type(self) -> type:
        """`itertools.count`."""
        return itertools.count

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next number."""
        tx.changes.note(self)
        number, self.number = self.number, binary(tx, "+", self.number, self.step)
        self.taken += 1
        return number

    def children(self) -> Iterator[Tracker]:
        """Number and step."""
        return iter((self.number, self.step))

    def reconstruct(self, writer: Writer) -> str:
        """A `count` from the present number."""
        numbers = f"{writer.value(self.number)}, {writer.value(self.step)}"
        return f"{writer.constant(itertools.count, 'count')}({numbers})"

    def replay(self, writer: Writer) -> None:
        """Advance the existing one."""
        assert self.source is not None
        # CPython has no way to set the number of an existing `count`
        place = writer.load(self.source)
        writer.statement(f"{writer.constant(advance_by, 'advance_by')}({place}, {self.taken})")


@final
class RepeatIterator(IteratorTracker):
    """`repeat(item[, times])`; `times` is the number of repetitions left, None without end."""

    def __init__(self, item: Tracker, times: int | None) -> None:
        self.item = item
        self.times = times

    @property
    def python_type(self) -> type:
        """`itertools.repeat`."""
        return itertools.repeat

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The same item, or None when no repetition is left."""
        tx.changes.note(self)
        if self.times is None:
            return self.item
        if self.times <= 0:
            return None
        self.times -= 1
        return self.item

    def children(self) -> Iterator[Tracker]:
        """The item."""
        yield self.item

    def reconstruct(self, writer: Writer) -> str:
        """A `repeat` with the repetitions that are left."""
        times = "" if self.times is None else f", {max(self.times, 0)}"
        return f"{writer.constant(itertools.repeat, 'repeat')}({writer.value(self.item)}{times})"


@final
class CycleIterator(IteratorTracker):
    """`cycle(iterable)`: `saved` holds the items of the first pass; `place` is the position in later passes."""

    def __init__(self, part: Tracker) -> None:
        self.part: Tracker | None = part
        self.saved: list[Tracker] = []
        self.place = 0

    @property
    def python_type(self) -> type:
        """`itertools.cycle`."""
        return itertools.cycle

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next item; after the first pass those that were saved, again and again."""
        tx.changes.note(self)
        if self.part is not None:
            item = self.take(tx, self.part)
            if item is not None:
                self.saved.append(item)
                return item
            self.part = None
        if not self.saved:
            return None
        self.place = self.place % len(self.saved) + 1
        return self.saved[self.place - 1]

    def children(self) -> Iterator[Tracker]:
        """The saved items, and the iterator."""
        return iter([*self.saved, *(() if self.part is None else (self.part,))])

    def reconstruct(self, writer: Writer) -> str:
        """A `cycle` over the saved and the remaining items, advanced to the same position."""
        make = writer.constant(itertools.cycle, "cycle")
        # the first pass is over: a new cycle that begins at the present place gives the same
        if self.part is None:
            place = self.place % len(self.saved) if self.saved else 0
            return f"{make}({write_tuple(writer, self.saved[place:] + self.saved[:place])})"
        if not self.saved:
            return f"{make}({writer.value(self.part)})"
        chain = writer.constant(itertools.chain, "chain")
        # the real one saves the items of the first pass itself, so it has to be given them again
        text = f"{make}({chain}({write_tuple(writer, self.saved)}, {writer.value(self.part)}))"
        name = writer.define(self, text, "iterator")
        writer.statement(f"{writer.constant(advance_by, 'advance_by')}({name}, {len(self.saved)})")
        return name


@final
class WhileIterator(IteratorTracker):
    """`takewhile(test, iterator)` and `dropwhile(test, iterator)`; `switched` once the test has failed."""

    def __init__(self, test: Tracker, part: Tracker, cls: type) -> None:
        self.test = test
        self.part = part
        self.cls = cls
        self.switched = False

    @property
    def python_type(self) -> type:
        """`itertools.takewhile` or `itertools.dropwhile`."""
        return self.cls

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """`takewhile`: the items up to the first failing one; `dropwhile`: those from it on. None at the end."""
        tx.changes.note(self)
        takes = self.cls is itertools.takewhile
        if takes and self.switched:
            return None
        while (item := self.part.advance(tx)) is not None:
            if self.switched:
                return item
            holds = known_truth(tx, self.test.call(tx, [item], {}))
            self.switched = not holds
            if takes:
                return item if holds else None
            if not holds:
                return item
        return None

    def children(self) -> Iterator[Tracker]:
        """Test and iterator."""
        return iter((self.test, self.part))

    def reconstruct(self, writer: Writer) -> str:
        """The same over the remaining items; once the test has failed, with a test that is always false."""
        make = writer.constant(self.cls, class_name(self.cls))
        if not self.switched:
            return f"{make}({writer.value(self.test)}, {writer.value(self.part)})"
        # a `takewhile` that has ended never looks at its input again
        part = "()" if self.cls is itertools.takewhile else writer.value(self.part)
        return f"{make}({writer.constant(always_false, 'always_false')}, {part})"


def always_false(item: object) -> bool:
    """A test that is always false: replaces the test of a `takewhile` or `dropwhile` that has switched."""
    return False
