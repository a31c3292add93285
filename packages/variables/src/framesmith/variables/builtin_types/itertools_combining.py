"""The iterators of `itertools` that combine items: starmap, compress, pairwise, accumulate, zip_longest, products.

After the graph each is reconstructed as a fresh iterator over the remaining items. Those that only pass items on are in
`itertools_types`.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import final

from framesmith.guards.class_lookup import class_name
from framesmith.variables.builtin_types.iterators import IteratorTracker
from framesmith.variables.builtin_types.itertools_types import write_tuple
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.operations.binary import binary
from framesmith.variables.operations.truth import known_truth


@final
class StarMapIterator(IteratorTracker):
    """`starmap(function, iterator)`."""

    def __init__(self, function: Tracker, part: Tracker) -> None:
        self.function = function
        self.part = part

    @property
    def python_type(self) -> type:
        """`itertools.starmap`."""
        return itertools.starmap

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The result of calling the function with the members of the next item, or None at the end."""
        item = self.part.advance(tx)
        if item is None:
            return None
        return self.function.call(tx, unpack_members(tx, item), {})

    def children(self) -> Iterator[Tracker]:
        """Function and iterator."""
        return iter((self.function, self.part))

    def reconstruct(self, writer: Writer) -> str:
        """`starmap` of the remaining items."""
        make = writer.constant(itertools.starmap, "starmap")
        return f"{make}({writer.value(self.function)}, {writer.value(self.part)})"


@final
class CompressIterator(IteratorTracker):
    """`compress(data, selectors)`."""

    def __init__(self, data: Tracker, selectors: Tracker) -> None:
        self.data = data
        self.selectors = selectors

    @property
    def python_type(self) -> type:
        """`itertools.compress`."""
        return itertools.compress

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next item whose selector is true, or None; a selector
        whose truth is known at run time only breaks the graph."""
        while (item := self.data.advance(tx)) is not None:
            selector = self.selectors.advance(tx)
            if selector is None:
                return None
            if known_truth(tx, selector):
                return item
        return None

    def children(self) -> Iterator[Tracker]:
        """Both iterators."""
        return iter((self.data, self.selectors))

    def reconstruct(self, writer: Writer) -> str:
        """`compress` of the remaining items and selectors."""
        make = writer.constant(itertools.compress, "compress")
        return f"{make}({writer.value(self.data)}, {writer.value(self.selectors)})"


@final
class PairwiseIterator(IteratorTracker):
    """`pairwise(iterator)`; `before` is the item that the next pair begins with."""

    def __init__(self, part: Tracker) -> None:
        self.part: Tracker | None = part
        self.before: Tracker | None = None

    @property
    def python_type(self) -> type:
        """`itertools.pairwise`."""
        return itertools.pairwise

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next pair, or None at the end."""
        tx.changes.note(self)
        if self.part is None:
            return None
        if self.before is None:
            self.before = self.take(tx, self.part)
        item = None if self.before is None else self.take(tx, self.part)
        if item is None:
            self.part = self.before = None
            return None
        assert self.before is not None
        pair, self.before = TupleTracker([self.before, item]), item
        return pair

    def children(self) -> Iterator[Tracker]:
        """The first item of the next pair, and the iterator."""
        return iter([part for part in (self.before, self.part) if part is not None])

    def reconstruct(self, writer: Writer) -> str:
        """`pairwise` of the remaining items, the one that was read already included."""
        make = writer.constant(itertools.pairwise, "pairwise")
        # exhausted for good: the input may have got more items
        if self.part is None:
            return f"{make}(())"
        rest = writer.value(self.part)
        if self.before is not None:
            # the item was taken from the input already, which the program may share
            rest = f"{writer.constant(itertools.chain, 'chain')}(({writer.value(self.before)},), {rest})"
        return f"{make}({rest})"


@final
class AccumulateIterator(IteratorTracker):
    """`accumulate(iterator, function, initial=)`; `pending` is an initial value that is still to be given."""

    def __init__(self, part: Tracker, function: Tracker | None, initial: Tracker | None) -> None:
        self.part = part
        self.function = function
        self.pending = initial
        self.total: Tracker | None = None

    @property
    def python_type(self) -> type:
        """`itertools.accumulate`."""
        return itertools.accumulate

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next total, or None at the end."""
        tx.changes.note(self)
        if self.pending is not None:
            self.total, self.pending = self.pending, None
            return self.total
        item = self.part.advance(tx)
        if item is None:
            return None
        if self.total is None:
            self.total = item
        elif self.function is None:
            self.total = binary(tx, "+", self.total, item)
        else:
            self.total = self.function.call(tx, [self.total, item], {})
        return self.total

    def children(self) -> Iterator[Tracker]:
        """Iterator, function and totals."""
        parts = (self.part, self.function, self.pending, self.total)
        return iter([part for part in parts if part is not None])

    def reconstruct(self, writer: Writer) -> str:
        """`accumulate` that begins with the present total, which the program was given already and is skipped."""
        make = writer.constant(itertools.accumulate, "accumulate")
        function = "None" if self.function is None else writer.value(self.function)
        # a real `accumulate` cannot be given a total, only an initial value, which it gives first
        initial, part = self.pending or self.total, writer.value(self.part)
        # None stands for no initial value there, so as a total it is put in front of the items
        if initial is not None and initial.realize().python_type is type(None):
            part = f"{writer.constant(itertools.chain, 'chain')}((None,), {part})"
            initial = None
        text = f"{make}({part}, {function}"
        text = f"{text})" if initial is None else f"{text}, initial={writer.value(initial)})"
        if self.total is None:
            return text
        name = writer.define(self, text, "iterator")
        writer.statement(f"{writer.constant(next, 'next')}({name})")
        return name


@final
class LongestIterator(IteratorTracker):
    """`zip_longest(*iterators, fillvalue=)`; an iterator that has ended is None."""

    def __init__(self, parts: Sequence[Tracker], fill: Tracker) -> None:
        self.parts: list[Tracker | None] = list(parts)
        self.fill = fill

    @property
    def python_type(self) -> type:
        """`itertools.zip_longest`."""
        return itertools.zip_longest

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """A tuple of one item of each, with the fill value for those that have ended; None when all have."""
        tx.changes.note(self)
        if not any(part is not None for part in self.parts):
            return None
        items: list[Tracker] = []
        for index, part in enumerate(self.parts):
            item = None if part is None else self.take(tx, part)
            if item is None and part is not None:
                self.parts[index] = None
                if not any(other is not None for other in self.parts):
                    return None
            items.append(self.fill if item is None else item)
        return TupleTracker(items)

    def children(self) -> Iterator[Tracker]:
        """The iterators and the fill value."""
        return iter([*[part for part in self.parts if part is not None], self.fill])

    def reconstruct(self, writer: Writer) -> str:
        """`zip_longest` of the remaining items."""
        make = writer.constant(itertools.zip_longest, "zip_longest")
        # an empty tuple keeps the place of one that has ended
        parts = "".join(["(), " if part is None else f"{writer.value(part)}, " for part in self.parts])
        return f"{make}({parts}fillvalue={writer.value(self.fill)})"


@final
class PoolIterator(IteratorTracker):
    """`product`, `permutations`, `combinations` ...: they read their inputs whole at first, and choose by indices.

    `rows` is the real iterator over indices into `pools`; `pools` has one input for each position of a result.
    """

    def __init__(
        self, cls: type, rows: Iterator[tuple[int, ...]], pools: Sequence[Sequence[Tracker]], text: str
    ) -> None:
        self.cls = cls
        self.rows = rows
        self.pools = pools
        self.text = text
        self.taken = 0

    @property
    def python_type(self) -> type:
        """`itertools.product` ..."""
        return self.cls

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next tuple of items, or None at the end."""
        tx.changes.note(self)
        row = next(self.rows, None)
        # counted at the end too: the new one is exhausted as this one is
        self.taken += 1
        if row is None:
            return None
        return TupleTracker([self.pools[place][index] for place, index in enumerate(row)])

    def children(self) -> Iterator[Tracker]:
        """All inputs."""
        return itertools.chain.from_iterable(self.pools)

    def reconstruct(self, writer: Writer) -> str:
        """A new iterator over the inputs, advanced by as many results as were taken."""
        make = writer.constant(self.cls, class_name(self.cls))
        # the others choose all positions from one input
        pools = self.pools if self.cls is itertools.product else self.pools[:1]
        text = self.text.format(", ".join([write_tuple(writer, pool) for pool in pools]), make=make)
        if not self.taken:
            return text
        name = writer.define(self, text, "iterator")
        writer.statement(f"{writer.constant(skip_items, 'skip_items')}({name}, {self.taken})")
        return name


def unpack_members(tx: TraceContext, item: Tracker) -> list[Tracker]:
    """The arguments that one item of `starmap` holds."""
    iterator, members = item.realize().iterate(tx), []
    while (member := iterator.advance(tx)) is not None:
        members.append(member)
    return members


def skip_items(iterator: Iterator[object], count: int) -> None:
    """Advance `iterator` by `count` items, or to its end."""
    for _ in itertools.islice(iterator, count):
        pass
