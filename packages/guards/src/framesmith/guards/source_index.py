"""What is known below a source: the guards of a trace by the path that they read, in order. It is brought up to date on request."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import final

from framesmith.guards.families import Member
from framesmith.guards.guard_set import GuardSet
from framesmith.guards.guards import Guard
from framesmith.guards.sources.base import Source


@final
class SourceIndex:
    """The paths that guards read, as trees, and the guards of each.

    Invariant: a source is known with all its bases; one that is computed from several is below each of them.
    """

    def __init__(self) -> None:
        self._below: dict[Source, list[Source]] = {}
        self._guards: dict[Source, list[tuple[int, Guard]]] = {}
        self._mark = self._count = 0
        # by their roots, with the number of the guard before theirs; what a member says is looked into when it is asked for
        self._members: dict[Source, tuple[int, Member]] = {}

    def update(self, guards: GuardSet) -> None:
        """Take in the guards that were added since the last call."""
        for item in islice(guards.items, self._mark, None):
            if isinstance(item, Member):
                self._members[item.root] = self._count, item
                self._count += len(item.family.guards)
            else:
                self._count += 1
                self._take(self._count, item)
        self._mark = len(guards.items)

    def _take(self, number: int, guard: Guard) -> None:
        for source in guard.sources:
            held = self._guards.get(source)
            if held is None:
                self.add(source)
                held = self._guards[source] = []
            held.append((number, guard))

    def _look_into_members(self, source: Source) -> None:
        """Take in the guards of the members that are read through a source, or through which it is read."""
        above = {source, *source.ancestors()}
        found = [root for root in self._members if root in above or source in root.ancestors()]
        for root in found:
            before, member = self._members.pop(root)
            for number, guard in enumerate(member.guards, before + 1):
                self._take(number, guard)

    def add(self, source: Source) -> None:
        """Make a source known."""
        if source in self._below:
            return
        self._below[source] = []
        for base in _bases(source):
            self.add(base)
            self._below[base].append(source)

    def below(self, source: Source) -> list[Source]:
        """The source and all that are read through it, each after its base."""
        self._look_into_members(source)
        found = [source]
        for one in found:
            found += self._below.get(one, ())
        return list(dict.fromkeys(found))

    def guards_on(self, sources: Iterable[Source]) -> list[Guard]:
        """The guards that read one of these sources, in the order in which they were added."""
        places = {place: guard for source in sources for place, guard in self._guards.get(source, ())}
        return [places[place] for place in sorted(places)]


def _bases(source: Source) -> Iterator[Source]:
    if source.base is not None:
        yield source.base
    yield from (leaf for leaf in source.leaves() if leaf is not source)
