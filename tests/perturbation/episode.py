"""One episode: two worlds that were called before, some mutations one after the other, all calls compared."""

import zlib
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from tests.end_to_end.compare import Difference
from tests.end_to_end.observe import observe
from tests.perturbation.ambient_mutations import AMBIENT, CALLS
from tests.perturbation.corpus import Program
from tests.perturbation.locations import Mutation, Undo
from tests.perturbation.mutations import find, mutations
from tests.perturbation.sides import Sides, Tally, origin


@dataclass
class Finding:
    """A difference: after which mutation, in which call, and what it says."""

    mutation: str
    call: str
    message: str


def identifiers(program: Program) -> list[str]:
    """All mutations of a program; empty if it cannot be built."""
    world, _ = program.world()
    try:
        observe(world.function, tuple(world.args), world.kwargs)
    finally:
        fresh, _ = program.world()
    return [*mutations(fresh), *(f"ambient: {one}" for one in AMBIENT), *(f"call: {one}" for one in CALLS)]


def run(program: Program, chosen: Sequence[str], tally: Tally | None = None) -> Finding | None:
    """The first difference of one episode, None if there is none."""
    dice = zlib.crc32("".join([program.name, *chosen]).encode())
    dynamic = True if dice % 5 == 0 else None
    sides = Sides(program, dynamic)
    name, call = "nothing", "first call"
    try:
        for number in range(1 + dice // 8 % 2):
            call = f"call {number + 1}"
            sides.call(nullcontext(), None)
        for name in chosen:
            call = "call after the mutation"
            context, how, undo = _prepare(sides, name)
            sides.call(context, how)
            call = "call after it was taken back"
            if not _taken_back(undo):
                return None
            sides.call(nullcontext(), None)
    except _NotPossible:
        return None
    except Difference as error:
        return Finding(name, call, f"{error}{origin(error.__cause__)}")
    finally:
        if tally is not None:
            tally.calls += sides.tally.calls
            tally.raised += sides.tally.raised
            tally.graphs += sides.tally.graphs
    return None


def _taken_back(undo: Sequence[Undo]) -> bool:
    """Whether what was changed could be changed back, in both worlds; a later mutation may stand in its way in both."""
    failed: list[str] = []
    for one in undo:
        try:
            one()
        except Exception as error:
            failed.append(f"{type(error).__name__}: {error}")
    if len(failed) == 1 and len(undo) > 1:
        raise Difference(f"the mutation can be taken back in one world only: {failed[0]}")
    return not failed


class _NotPossible(Exception):
    """The mutation cannot be made: it raises in both worlds."""


def _prepare(sides: Sides, name: str) -> tuple[AbstractContextManager[Any], str | None, list[Undo]]:
    kind, _, rest = name.partition(": ")
    if kind == "ambient":
        return AMBIENT[rest](), None, []
    if kind == "call":
        return nullcontext(), rest, []
    undo: list[Undo] = []
    failed: list[str] = []
    for world in (sides.eager, sides.compiled):
        mutation: Mutation | None = find(world, name)
        if mutation is None:
            failed.append("no such mutation")
            continue
        try:
            undo.append(mutation.apply())
        except Exception as error:
            failed.append(f"{type(error).__name__}: {error}")
    if len(failed) == 1:
        raise Difference(f"the mutation is possible in one world only: {failed[0]}")
    if failed:
        raise _NotPossible(failed[0])
    return nullcontext(), None, undo
