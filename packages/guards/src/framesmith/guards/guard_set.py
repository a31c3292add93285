"""Guards and the set of them an entry rests on. The expression that checks them is generated in `program`."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import final

from framesmith.guards.fact_log import FactLog
from framesmith.guards.kinds.aliasing import SameObject
from framesmith.guards.kinds.base import Claim, Relation
from framesmith.guards.kinds.tensor import TensorIs
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True)
class Reason:
    """Why a guard was added: what was decided, and the user's frame (`/path/file.py:12 in forward`) if there is one."""

    what: str
    user_frame: str | None = None


NO_REASON = Reason("unspecified")


@final
@dataclass(frozen=True, slots=True)
class Guard:
    """A claim about the value of a source, or a relation (which names its sources itself: `source` is None)."""

    source: Source | None
    claim: Claim | Relation
    reason: Reason = NO_REASON

    def __post_init__(self) -> None:
        if isinstance(self.claim, Claim) and self.source is None:
            raise TypeError(f"{type(self.claim).__name__} speaks about one value: its guard needs a source")

    @classmethod
    def relation(cls, claim: Relation, reason: Reason = NO_REASON) -> "Guard":
        """The guard of a relation, which names its sources itself."""
        return cls(None, claim, reason)

    def with_location(self, user_frame: str | None) -> "Guard":
        """The guard with the user's frame in its reason, unless that has one already."""
        if user_frame is None or self.reason.user_frame is not None:
            return self
        return Guard(self.source, self.claim, Reason(self.reason.what, user_frame))

    @property
    def sources(self) -> tuple[Source, ...]:
        """Every source it reads."""
        if isinstance(self.claim, Relation):
            return self.claim.all_sources
        return () if self.source is None else (self.source,)

    def text(self) -> str:
        """The guard as a line of a table."""
        if isinstance(self.claim, Relation):
            return self.claim.text()
        assert self.source is not None
        return self.claim.text(self.source)


@final
class GuardSet:
    """Guards in the order they were added, each once; the first reason given is kept.

    The guards on a source are added after those on its base, so that checking in order never runs user code on a value
    of an unexpected type. Guards are never removed: trackers are made once in a trace, and rely on the guards that
    were added then. A trace that has to forget what it read begins anew, with a new set.
    """

    def __init__(self, guards: Iterable[Guard] = ()) -> None:
        # gives the user's frame for the reasons of new guards
        self.locate: Callable[[], str | None] | None = None
        self.facts: FactLog | None = None  # what the trace read, in tests
        self._places: dict[tuple[Source | None, Claim | Relation], int] = {}  # in the list
        self._guards: list[Guard] = []
        self._classes: set[int] = set()
        for guard in guards:
            self.add(guard)

    def add(self, guard: Guard) -> None:
        """Add the guard unless the same claim about the same source is there; its reason gets the user's frame."""
        key = (None if isinstance(guard.claim, Relation) else guard.source, guard.claim)
        # one look-up for a new guard too: sources and claims are hashed by code in Python
        count = len(self._guards)
        if self._places.setdefault(key, count) == count:
            self._guards.append(guard if self.locate is None else guard.with_location(self.locate()))

    def require(self, source: Source, claim: Claim, reason: Reason) -> None:
        """`add` for a claim about one value; most are there already, and need no guard made for the question."""
        count = len(self._guards)
        if self._places.setdefault((source, claim), count) == count:
            guard = Guard(source, claim, reason)
            self._guards.append(guard if self.locate is None else guard.with_location(self.locate()))

    def update(self, guards: Iterable[Guard]) -> None:
        """Add each guard, as `add` does."""
        for guard in guards:
            self.add(guard)

    def __iter__(self) -> Iterator[Guard]:
        return iter(self._guards)

    def __len__(self) -> int:
        return len(self._guards)

    def __contains__(self, guard: Guard) -> bool:
        return (None if isinstance(guard.claim, Relation) else guard.source, guard.claim) in self._places

    def guard_once(self, cls: type) -> bool:
        """Whether this is the first request to guard the structure of this class; True once a class.

        It saves the work of building the guard, as each use of an instance asks for it. The class is noted by id: the
        guard that the caller adds keeps it alive.
        """
        if id(cls) in self._classes:
            return False
        self._classes.add(id(cls))
        return True

    def mark(self) -> int:
        """The number of guards now, to be given to `added_since` later."""
        return len(self._guards)

    def added_since(self, mark: int) -> Iterator[Guard]:
        """The guards added after the mark."""
        return itertools.islice(self._guards, mark, None)

    def copy(self) -> "GuardSet":
        """Another set with the same guards."""
        return GuardSet(self)

    @property
    def tensors(self) -> tuple[tuple[Source, TensorIs], ...]:
        """The sources of tensors with what is claimed of them, in order."""
        return tuple(
            (guard.source, guard.claim)
            for guard in self
            if isinstance(guard.claim, TensorIs) and guard.source is not None
        )


@final
@dataclass(frozen=True, slots=True)
class Tensors:
    """The tensor claims of a set: those over pairwise distinct objects, and those still to be checked apart
    (a second claim about one tensor)."""

    distinct: tuple[tuple[Source, TensorIs], ...]
    apart: tuple[tuple[Source, TensorIs], ...]


def split_tensors(guard_set: GuardSet) -> Tensors:
    """The tensor claims of the set, split.

    Sources that `SameObject` says are one tensor occur once among the distinct ones, as the first of them; a differing
    second claim about that tensor is among `apart`.
    """
    leader = _leaders(guard_set)
    chosen: dict[Source, TensorIs] = {}
    apart = []
    for source, claim in guard_set.tensors:
        first = chosen.setdefault(leader.get(source, source), claim)
        if first is not claim and first != claim:
            apart.append((source, claim))
    return Tensors(tuple(chosen.items()), tuple(apart))


def _leaders(guard_set: GuardSet) -> dict[Source, Source]:
    """For every source in a `SameObject`: the tensor source of its group that was guarded first."""
    # All members of a group share one list, as in union-find.
    group: dict[Source, list[Source]] = {}
    for guard in guard_set:
        if isinstance(guard.claim, SameObject):
            left = group.setdefault(guard.claim.left, [guard.claim.left])
            right = group.setdefault(guard.claim.right, [guard.claim.right])
            if left is not right:
                left += right
                group.update(dict.fromkeys(right, left))
    if not group:
        return {}
    # Negative, for `max`: the first tensor source is the greatest, a source without a tensor claim the least.
    order = {source: -index for index, (source, _) in enumerate(guard_set.tensors)}
    return {
        source: max(members, key=lambda item: order.get(item, -len(order) - 1))
        for source, members in group.items()
    }
