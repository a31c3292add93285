"""The set of guards that an entry rests on. The expression that checks them is generated in `program`."""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from framesmith.guards.fact_log import FactLog
from framesmith.guards.families import Member
from framesmith.guards.guards import Guard, Reason
from framesmith.guards.kinds.aliasing import SameObject
from framesmith.guards.kinds.base import Claim, Relation
from framesmith.guards.kinds.tensor import TensorIs
from framesmith.guards.kinds.types import TypeIs
from framesmith.guards.member_roots import MemberRoots
from framesmith.guards.sources.base import Source


@final
class GuardSet:
    """Guards in the order they were added, each once; the first reason given is kept.

    The guards on a source are added after those on its base, so that checking in order never runs user code on a value
    of an unexpected type. Guards are never removed: trackers are made once in a trace, and rely on the guards that
    were added then. A trace that has to forget what it read begins anew, with a new set.
    A member of a family stands for its guards, at the place where it was added; what it says may have been said before.
    """

    def __init__(self, guards: Iterable[Guard] = ()) -> None:
        # gives the user's frame for the reasons of new guards
        self.locate: Callable[[], str | None] | None = None
        self.facts: FactLog | None = None  # what the trace read, in tests
        self._places: dict[tuple[Source | None, Claim | Relation], int] = {}  # in the list
        self._items: list[Guard | Member] = []
        # to be read only: the guards, with members of families in place of theirs
        self.items: Sequence[Guard | Member] = self._items
        self._classes: set[int] = set()
        self._types: dict[int, TypeIs] = {}
        self._roots = MemberRoots()
        self._tensors: list[tuple[Source, TensorIs]] = []
        self._searched = 0  # how many items `_tensors` was made of
        self.update(guards)

    def add(self, guard: Guard) -> None:
        """Add the guard unless the same claim about the same source is there; its reason gets the user's frame."""
        key = (None if isinstance(guard.claim, Relation) else guard.source, guard.claim)
        if self._is_new(key):
            self._append(guard)

    def add_member(self, member: Member) -> None:
        """Add all guards of a member of a family. Its root is not in another member, and no member is read through it."""
        self._items.append(member)
        self._roots.add(member.root)

    def is_apart(self, root: Source) -> bool:
        """Whether a member may have this root."""
        return self._roots.is_apart(root)

    def require(self, source: Source, claim: Claim, reason: Reason) -> None:
        """`add` for a claim about one value; most are there already, and need no guard made for the question."""
        if self._is_new((source, claim)):
            self._items.append(Guard(source, claim, self._locate(reason)))

    def _is_new(self, key: tuple[Source | None, Claim | Relation]) -> bool:
        """Whether there was no such guard; its place is taken then, in one look-up: keys are hashed by code in Python."""
        count = len(self._items)
        return self._places.setdefault(key, count) == count

    def _append(self, guard: Guard) -> None:
        reason = self._locate(guard.reason)
        self._items.append(guard if reason is guard.reason else Guard(guard.source, guard.claim, reason))

    def _locate(self, reason: Reason) -> Reason:
        """The reason with the user's frame, unless it has one. That is looked for only now, since most claims are not new."""
        if self.locate is None or reason.user_frame is not None:
            return reason
        frame = self.locate()
        return reason if frame is None else Reason(reason.what, frame)

    def update(self, guards: Iterable[Guard | Member]) -> None:
        """Add each guard, as `add` does; the members of another set as members."""
        if isinstance(guards, GuardSet) and self._update_at_once(guards):
            return
        for item in guards.items if isinstance(guards, GuardSet) else guards:
            if isinstance(item, Member):
                self.add_member(item)
            else:
                self.add(item)

    def _update_at_once(self, other: "GuardSet") -> bool:
        """Take over all guards of another set, if none of them is here: then they are not hashed anew."""
        places = {**other._places, **self._places}
        if (
            self.locate is not None
            or not self._roots.is_empty
            or len(places) < len(other._places) + len(self._places)
        ):
            return False
        # a place says no more than that it is before the end
        self._places = places
        self._items += other._items
        self._roots = other._roots.copy()
        return True

    def __iter__(self) -> Iterator[Guard]:
        return _guards_of(self._items)

    def __len__(self) -> int:
        return sum(len(one.family.guards) if isinstance(one, Member) else 1 for one in self._items)

    def __contains__(self, guard: Guard) -> bool:
        """Whether it was added by itself, not as one of a member's."""
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

    def type_claim(self, cls: type) -> TypeIs:
        """The claim that a value is of this class: one object for all values, so that it is hashed once."""
        claim = self._types.get(id(cls))
        if claim is None:
            # it holds the class, whose id stays its own
            claim = self._types[id(cls)] = TypeIs(cls)
        return claim

    def added_since(self, count: int) -> Iterator[Guard]:
        """The guards that were added since there were this many `items`."""
        return _guards_of(itertools.islice(self._items, count, None))

    def copy(self) -> "GuardSet":
        """Another set with the same guards."""
        return GuardSet(self)

    @property
    def tensors(self) -> Sequence[tuple[Source, TensorIs]]:
        """The sources of tensors with what is claimed of them, in order."""
        if self._searched < len(self._items):
            for item in itertools.islice(self._items, self._searched, None):
                if isinstance(item, Member):
                    self._tensors += item.tensors
                elif isinstance(item.claim, TensorIs) and item.source is not None:
                    self._tensors.append((item.source, item.claim))
            self._searched = len(self._items)
        return self._tensors

    @property
    def relations(self) -> Iterator[Guard]:
        """The guards whose claims are relations; members have none."""
        return (
            item for item in self._items if not isinstance(item, Member) and isinstance(item.claim, Relation)
        )


def _guards_of(items: Iterable[Guard | Member]) -> Iterator[Guard]:
    for item in items:
        if isinstance(item, Member):
            yield from item.guards
        else:
            yield item


@final
@dataclass(frozen=True, slots=True)
class Tensors:
    """The tensor claims of a set: those over pairwise distinct objects, and those still to be checked apart
    (a second claim about one tensor)."""

    distinct: Mapping[Source, TensorIs]
    apart: tuple[tuple[Source, TensorIs], ...]
    sources: Collection[Source]
    """Those of all claims."""


def split_tensors(guard_set: GuardSet) -> Tensors:
    """The tensor claims of the set, split.

    Sources that `SameObject` says are one tensor occur once among the distinct ones, as the first of them; a differing
    second claim about that tensor is among `apart`.
    """
    leader = _leaders(guard_set)
    chosen: dict[Source, TensorIs] = {}
    apart = []
    for source, claim in guard_set.tensors:
        first = chosen.setdefault(leader.get(source, source) if leader else source, claim)
        # An equal claim about the same tensor says nothing new.
        if first is not claim and first != claim:
            apart.append((source, claim))
    sources = {source for source, _ in guard_set.tensors} if leader else chosen.keys()
    return Tensors(chosen, tuple(apart), sources)


def _leaders(guard_set: GuardSet) -> dict[Source, Source]:
    """For every source in a `SameObject`: the tensor source of its group that was guarded first."""
    # All members of a group share one list, as in union-find.
    group: dict[Source, list[Source]] = {}
    for guard in guard_set.relations:
        if isinstance(guard.claim, SameObject):
            left = group.setdefault(guard.claim.left, [guard.claim.left])
            right = group.setdefault(guard.claim.right, [guard.claim.right])
            if left is not right:
                # The smaller list joins the larger one: a chain of equal sources takes no quadratic time.
                if len(left) < len(right):
                    left, right = right, left
                left += right
                group.update(dict.fromkeys(right, left))
    leaders: dict[int, Source] = {}
    for source, _ in guard_set.tensors if group else ():
        if source in group:
            leaders.setdefault(id(group[source]), source)
    return {source: leaders[id(members)] for source, members in group.items() if id(members) in leaders}
