"""Iterators that existed before the trace, in mid-course: their next items are read without advancing them.

The position is not guarded, only that enough items remain: a loop that continues after a graph break is not
compiled again for each iteration. An existing `map` or `filter` has no state but its parts, which are wrapped. Replay advances the real iterator as far as the trace went. Reading without
advancing is done by `guards.iterators`.
"""

import gc
import itertools
from collections.abc import Callable
from functools import cache
from typing import Final, final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNKNOWN_ITERATOR
from framesmith.guards import Guard, Reason, Source
from framesmith.guards.iterators import (
    can_clone,
    has_at_least,
    is_known_iterator,
    is_long_to_look_into,
    is_strict_iterator,
    parts,
    peek,
)
from framesmith.guards.kinds import (
    DistinctObjects,
    EqualTo,
    IteratorExhaustedAfter,
    IteratorHasAtLeast,
    TypeIs,
)
from framesmith.guards.sources import CallResult, IteratorPart, IteratorPeek
from framesmith.variables.builtin_types.dict_iterators import advance_by
from framesmith.variables.builtin_types.iterator_chains import FilterIterator, MapIterator
from framesmith.variables.builtin_types.iterators import IteratorTracker
from framesmith.variables.builtin_types.itertools_types import CountIterator
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.builtin_type import CONTAINERS
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.unspecialized import break_on_changing_value, require_specializable
from framesmith.variables.core.wrap_rules import lazy

ROWS: Final = Rows()

COMBINING: frozenset[type] = frozenset({zip, enumerate, map, filter})


@final
class ExistingIterator(IteratorTracker):
    """A builtin iterator over containers. Invariant: the trace has read
    `taken` items ahead; the real iterator is not advanced before replay."""

    def __init__(self, value: object, source: Source) -> None:
        self.value = value
        self.source: Source = source
        self.taken = 0
        self.exhausted = False

    @property
    def python_type(self) -> type:
        """The type of the iterator."""
        return type(self.value)

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next item, read ahead, or None; guards that it exists, or that the iterator is exhausted."""
        # for good, as in CPython; a guard says that the real one has no more items
        if self.exhausted:
            return None
        require_specializable(tx, self)
        # each look copies the iterator, so a loop over it would take time by the square of its length
        if is_long_to_look_into(self.value):
            break_on_changing_value(self.describe())
        # before the guard, which would describe the container as it was when the trace began
        self._check_untouched(tx)
        try:
            has_next = has_at_least(self.value, self.taken + 1)
        except ValueError as error:  # a strict zip: it raises in the program, when the iterator gets there
            raise GraphBreak(UNKNOWN_ITERATOR, str(error)) from error
        if not has_next:
            # also that nothing more is there: the same entry must not serve a longer iterator
            tx.guard(self, IteratorExhaustedAfter(self.taken))
            tx.changes.note(self)
            self.exhausted = True
            return None
        # not the position: the same entry serves each iteration of a loop
        tx.guard(self, IteratorHasAtLeast(self.taken + 1))
        item = lazy(tx, peek(self.value, self.taken), IteratorPeek(self.source, self.taken))
        tx.changes.note(self)
        self.taken += 1
        return item

    def _check_untouched(self, tx: TraceContext) -> None:
        """Break when the trace changed a container behind this iterator, or advanced one that shares its position:
        reading ahead sees the old state. Guards that changed containers stay other objects on later calls."""
        # objects made in the trace cannot be behind an iterator that existed before
        changes = [one for one in tx.changes.changed_trackers() if one is not self and one.source is not None]
        if not changes:  # as a rule: what is behind the iterator need not be looked for at each advance
            return
        # bytearray has no row as a builtin type, but can be iterated over and changed
        containers = (*tx.registry[CONTAINERS], bytearray)
        behind = containers_behind(self.value, containers)
        for changed in changes:
            assert changed.source is not None
            if isinstance(changed, ExistingIterator):
                if shares(self.value, changed.value):
                    raise GraphBreak(UNKNOWN_ITERATOR, "two iterators share one position")
                continue
            for index, value in enumerate(behind):
                if type(value) is not changed.python_type:
                    continue
                # the very container of this call; of any other one, later calls have to be told apart
                if getattr(changed, "value", None) is value:
                    raise GraphBreak(UNKNOWN_ITERATOR, "the container behind an iterator was changed")
                apart = DistinctObjects(
                    (changed.source, CallResult(self.source, container_at(index, containers)))
                )
                tx.guards.add(Guard.relation(apart, Reason("one is changed, the other iterated over", None)))

    def replay(self, writer: Writer) -> None:
        """Advance the real iterator."""
        place = writer.load(self.source)
        # by far the most frequent: one round of a loop
        if self.taken == 1:
            writer.statement(f"{writer.constant(next, 'next')}({place})")
        elif self.taken:
            writer.statement(f"{writer.constant(advance_by, 'advance_by')}({place}, {self.taken})")
        if self.exhausted:
            writer.statement(f"{writer.constant(next, 'next')}({place}, None)")


@cache
def container_at(index: int, containers: tuple[type, ...]) -> Callable[[object], object]:
    """A function that returns `containers_behind(iterator, containers)[index]`;
    cached, since sources compare functions by identity."""

    def container_behind(iterator: object) -> object:
        return containers_behind(iterator, containers)[index]

    return container_behind


def containers_behind(iterator: object, containers: tuple[type, ...]) -> list[object]:
    """The containers that an iterator and its inner iterators read from. `containers`: the types that count as such."""
    flat = [inner for inner in inner_iterators(iterator) if type(inner) not in COMBINING]
    # an iterator in C refers to what it reads, and has no attribute that names it
    return [value for inner in flat for value in gc.get_referents(inner) if isinstance(value, containers)]


def inner_iterators(iterator: object) -> list[object]:
    """The iterator itself and all inner iterators that it advances."""
    found, pending = list[object](), [iterator]
    while pending:
        current = pending.pop()
        found.append(current)
        # only these hold iterators that they advance; a `map` also holds its function
        if type(current) in COMBINING:
            pending.extend(part for part in parts(current) if hasattr(type(part), "__next__"))
    return found


def shares(one: object, other: object) -> bool:
    """Whether advancing one of two iterators moves the other."""
    mine = {id(inner) for inner in inner_iterators(one)}
    return any(id(inner) in mine for inner in inner_iterators(other))


# not by exact type: whether an iterator can be looked into depends on what it runs over
@ROWS.wrap_when(35, lambda _, cls: is_known_iterator(cls), lambda _, value: can_clone(value))
def wrap_iterator(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing iterator over builtin containers, one that `can_clone` accepts."""
    tx.guard(source, TypeIs(type(value)))
    return ExistingIterator(value, source)


@ROWS.wrap(itertools.count)
def wrap_count(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing `count` of ints with the step 1. Its number is read as an int of the program is, so that it may change."""
    tx.guard(source, TypeIs(itertools.count))
    # other counts hold numbers that would have to be guarded, and `repr` of which may run code
    if not counts_by_one(value):
        raise GraphBreak(UNKNOWN_ITERATOR, f"{source.text()} counts other things than ints, or not by one")
    # of a type that is guarded, and exact ints: no code of the user runs in this check
    tx.guard(CallResult(source, counts_by_one), EqualTo(True))
    number = tx.wrap(next_number(value), CallResult(source, next_number))
    return CountIterator(number.realize(), Constant(1), source)


def counts_by_one(counter: object) -> bool:
    """Whether the next number of a `count` is an int, and the step is 1; no method of a number runs."""
    held = gc.get_referents(counter)  # from Python 3.15 on with its class
    # with a step other than 1 the text is `count(0, 2)`
    return all(type(one) is int or one is itertools.count for one in held) and "," not in repr(counter)


def next_number(counter: object) -> int:
    """The number that a `count` with the step 1 gives next: its text is `count(7)`."""
    return int(repr(counter).removeprefix("count(").removesuffix(")"))


@ROWS.wrap(map, filter)
def wrap_map(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing `map` or `filter`: its only state is that of its parts, which are wrapped."""
    tx.guard(source, TypeIs(type(value)))
    if type(value) is map:
        if is_strict_iterator(value):  # 3.14 and newer
            raise GraphBreak(UNKNOWN_ITERATOR, f"{source.text()} is a map with strict=True")
        tx.guard(CallResult(source, is_strict_iterator), EqualTo(False))
    members = [tx.wrap(part, IteratorPart(source, index)) for index, part in enumerate(parts(value))]
    function, inner = members[0].realize(), [member.realize() for member in members[1:]]
    # a `map` of the next call may go over more iterators
    tx.guard(CallResult(source, part_count), EqualTo(len(members)))
    tracker: Tracker
    tracker = (
        MapIterator(function, inner)
        if type(value) is map
        else FilterIterator(function, inner[0], filter, True)
    )
    # set here, since those that a trace makes have none
    tracker.source = source
    return tracker


def part_count(iterator: object) -> object:
    """The number of the iterator's parts."""
    return len(parts(iterator))
