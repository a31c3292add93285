"""Guards that hold of several objects in the same way: a family says them once, of its root, and each member of its own root.

    guards below layers[0], and: "the same holds of layers[1], layers[2] ..."

A guard set holds members in place of their guards. Who reads the set sees guards (each member gives its own, with sources
moved); only the generated check makes use of the family: one loop over all members (`family_checks`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from framesmith.guards.guards import Guard
from framesmith.guards.kinds.base import Claim
from framesmith.guards.kinds.tensor import TensorIs
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.rebase import Rebase
from framesmith.guards.sources.values import ValuesOf

FEWEST: Final = 4
_FEWEST_GUARDS: Final = 400
"""Members of a family, and guards of all of them, for which a loop pays: it costs 0.4 µs more than the text of each, and saves
the time to read so much code into the processor's caches (ADR 0023)."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Guards on `root` and on what is read through it. `inputs`: the tensors among these that a graph takes, in its order;
    `claims`: what is claimed of tensors, and `tensors`, of which ones; `others`: the places of those that are no inputs.

    Invariant: each guard makes a claim about one source, which consists of its base and of constants from the root on.
    """

    root: Source
    guards: tuple[Guard, ...]
    inputs: tuple[Source, ...]
    tensors: tuple[Source, ...] = field(init=False, repr=False)
    claims: tuple[TensorIs, ...] = field(init=False, repr=False)
    others: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for guard in self.guards:
            if guard.source is None or not isinstance(guard.claim, Claim):
                raise TypeError(f"a family consists of claims about one source, not of {guard.text()}")
        tensors = [
            (guard.source, guard.claim)
            for guard in self.guards
            if guard.source is not None and isinstance(guard.claim, TensorIs)
        ]
        given, others = {*self.inputs}, dict[Source, int]()
        for place, (source, _) in enumerate(tensors):
            if source not in given:
                others.setdefault(source, place)
        # The data class is frozen.
        object.__setattr__(self, "tensors", tuple([source for source, _ in tensors]))
        object.__setattr__(self, "claims", tuple([claim for _, claim in tensors]))
        object.__setattr__(self, "others", tuple(others.values()))


@final
@dataclass(slots=True, eq=False)
class Member:
    """Another object of which the guards of a family hold. What is asked of it is made then, and kept.

    `rebase` gives its sources for those of the family.
    """

    family: Family
    root: Source
    rebase: Rebase = field(repr=False)
    _guards: tuple[Guard, ...] | None = field(default=None, init=False, repr=False)
    _tensors: tuple[tuple[Source, TensorIs], ...] | None = field(default=None, init=False, repr=False)
    _inputs: tuple[Source, ...] | None = field(default=None, init=False, repr=False)

    @property
    def guards(self) -> tuple[Guard, ...]:
        """The guards of the family about this member."""
        if self._guards is None:
            self._guards = tuple(
                Guard(self.rebase(guard.source), guard.claim, guard.reason)
                for guard in self.family.guards
                if guard.source is not None
            )
        return self._guards

    @property
    def tensors(self) -> tuple[tuple[Source, TensorIs], ...]:
        """What is claimed of its tensors, in order."""
        if self._tensors is None:
            self._tensors = tuple(
                zip(self.rebase.move_all(self.family.tensors), self.family.claims, strict=True)
            )
        return self._tensors

    @property
    def inputs(self) -> tuple[Source, ...]:
        """The inputs of the family, of this member."""
        if self._inputs is None:
            self._inputs = self.rebase.move_all(self.family.inputs)
        return self._inputs


def members_by_family(items: Iterable[Guard | Member]) -> dict[Family, list[Member]]:
    """The members among the items of a guard set, in order."""
    found: dict[Family, list[Member]] = {}
    for item in items:
        if isinstance(item, Member):
            found.setdefault(item.family, []).append(item)
    return found


def is_worth_a_loop(members: Sequence[Member]) -> bool:
    """Whether these members of a family are to be checked in a loop."""
    return len(members) >= FEWEST and len(members) * len(members[0].family.guards) >= _FEWEST_GUARDS


def pack_inputs(inputs: Sequence[Source], items: Iterable[Guard | Member]) -> list[Source]:
    """The inputs of a graph, where those of neighbouring members of a family become one source (`ValuesOf`)."""
    firsts = {
        member.inputs[0]: member
        for members in members_by_family(items).values()
        for member in members
        if member.family.inputs and is_worth_a_loop(members)
    }
    packed: list[Source] = []
    run: list[Source] = []
    family: Family | None = None
    place = 0

    def end_run() -> None:
        packed.extend([ValuesOf(tuple(run))] if len(run) > 1 else run)
        run.clear()

    while place < len(inputs):
        member = firsts.get(inputs[place])
        own = () if member is None else member.inputs
        # The graph need not take all inputs of a member, nor take them together.
        if member is None or tuple(inputs[place : place + len(own)]) != own:
            end_run()
            packed.append(inputs[place])
            place += 1
            continue
        if member.family is not family:
            end_run()
            family = member.family
        run += own
        place += len(own)
    end_run()
    return packed
