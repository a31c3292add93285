"""The check of a family: one function with a loop over the members, in place of a text for each of them.

    def check(roots):
      values = []
      for member in roots:
        if not (type(member) is Block and ... and type(member.__dict__['_parameters']) is dict): return None
        values += (member.__dict__['_parameters']['weight'], ...)
      return values

The function gives the tensors of all members, which native code checks together with all other tensors. Its lines come from
the same rendering as those of single guards (`program`).
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, final

from framesmith.guards.families import Family, Member
from framesmith.guards.guard_set import GuardSet
from framesmith.guards.guards import Guard
from framesmith.guards.kinds.base import Relation
from framesmith.guards.kinds.tensor import TensorIs
from framesmith.guards.member_roots import MemberRoots
from framesmith.guards.names import PREFIX, Names
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.containers import Item
from framesmith.guards.writer import ConditionText

ROOTS: Final = f"{PREFIX}roots"
MEMBER: Final = f"{PREFIX}member"
_VALUES, _OTHERS = f"{PREFIX}values", f"{PREFIX}others"


@final
@dataclass(frozen=True, slots=True, eq=False)
class FamilyCheck:
    """The function of a family as text. In the constants of a program it is a placeholder for the compiled function, which
    returns the values in a list, or None where the guards do not hold of all members."""

    parameters: str
    lines: tuple[str, ...]
    constants: Mapping[str, object]


def write_check(written: ConditionText, inputs: int) -> FamilyCheck:
    """The function for what was written of one member. The first of its loads are inputs, which come first in the list."""
    values, others = written.loads[:inputs], written.loads[inputs:]
    lines = (
        f"{_VALUES} = []",
        *([f"{_OTHERS} = []"] if others else []),
        f"for {MEMBER} in {ROOTS}:",
        f"  if not ({' and '.join(written.terms) or 'True'}): return None",
        *([f"  {_VALUES} += ({', '.join(values)},)"] if values else []),
        *([f"  {_OTHERS} += ({', '.join(others)},)"] if others else []),
        f"return {_VALUES} + {_OTHERS}" if others else f"return {_VALUES}",
    )
    return FamilyCheck(ROOTS, lines, written.constants)


@final
@dataclass(frozen=True, slots=True, eq=False)
class FamilyLoop:
    """The check of some members of a family at one point of a program. As a path, it is the list that the function returns."""

    check: FamilyCheck
    members: tuple[Member, ...]
    values: tuple[Source, ...]
    base: None = None

    @staticmethod
    def of(check: FamilyCheck, members: Sequence[Member]) -> "FamilyLoop":
        """The loop over these members. `values` are the sources of what the function returns."""
        inputs = [source for member in members for source in member.inputs]
        others = [member.tensors[place][0] for member in members for place in member.family.others]
        return FamilyLoop(check, tuple(members), (*inputs, *others))

    def is_direct(self) -> bool:
        """No: it is a call."""
        return False

    def expression(self, names: Names) -> str:
        """The call of the function."""
        return f"{names.constant(self.check, 'family')}({_roots([one.root for one in self.members], names)})"


def _roots(roots: Sequence[Source], names: Names) -> str:
    """The objects in a tuple: items of one container are read by one native call."""
    first = roots[0]
    if isinstance(first, Item) and len(roots) > 1:
        base = first.base
        items = [
            root for root in roots if isinstance(root, Item) and (root.base is base or root.base == base)
        ]
        if len(items) == len(roots):
            # Of one key it would give the item itself, hence the condition above.
            getter = itemgetter(*[item.key for item in items])
            return f"{names.constant(getter, 'items')}({names.source(first.base)})"
    return f"({', '.join(map(names.source, roots))},)"


@final
class Schedule:
    """The guards of a set in the order of checking, with the members of a family put together.

    What a guard reads below a member is read after the loop that checks this member. The loop comes after the guards on
    what its members are read from.
    """

    def __init__(self, guard_set: GuardSet, checks: Mapping[Family, FamilyCheck]) -> None:
        self._checks = checks
        self._roots = MemberRoots()
        self._open: dict[Family, list[Member]] = {}
        self.steps: list[Guard | FamilyLoop] = []
        self._said = _said_again(guard_set, checks)
        for item in guard_set.items:
            if isinstance(item, Member) and item.family in checks:
                self._close_above(item.root)
                self._open.setdefault(item.family, []).append(item)
                self._roots.add(item.root)
            else:
                for guard in item.guards if isinstance(item, Member) else (item,):
                    self._add(guard)
        self._close()

    def _add(self, guard: Guard) -> None:
        if id(guard) in self._said:
            return
        # Those two are checked after all loops anyway (`program`).
        if guard.source is not None and not isinstance(guard.claim, Relation | TensorIs):
            self._close_above(guard.source)
        self.steps.append(guard)

    def _close_above(self, source: Source) -> None:
        """Check the members first through which this source is read."""
        if self._roots.hold(source):
            self._close()

    def _close(self) -> None:
        self.steps += [FamilyLoop.of(self._checks[family], members) for family, members in self._open.items()]
        self._roots.clear()
        self._open.clear()


def _said_again(guard_set: GuardSet, checks: Mapping[Family, FamilyCheck]) -> set[int]:
    """The guards of the set, by `id`, on roots of members that the family says as well, where nothing is read through the root before
    the loop."""
    claims = {
        family: {guard.claim for guard in family.guards if guard.source == family.root} for family in checks
    }
    # those whose members are still to come: after its loop a root is checked, and reading through it is safe
    waiting = {
        item.root: item.family
        for item in guard_set.items
        if isinstance(item, Member) and item.family in checks
    }
    found: list[tuple[Source, Guard]] = []
    spoilt: set[Source] = set()
    for item in guard_set.items:
        if isinstance(item, Member):
            # a root is not read through another one
            waiting.pop(item.root, None)
            continue
        if item.source is None or isinstance(item.claim, TensorIs):
            continue
        family = waiting.get(item.source)
        if family is not None and item.claim in claims[family]:
            found.append((item.source, item))
        else:
            spoilt.update(_roots_above(item.source, waiting))
    return {id(guard) for root, guard in found if not spoilt or root not in spoilt}


def _roots_above(source: Source | None, roots: Container[Source]) -> Iterator[Source]:
    while source is not None:
        if source in roots:
            yield source
        source = source.base
