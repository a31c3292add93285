"""The slow check: which guard no longer holds, and why, in the user's words.

The quick check is the expression of `program`.
"""

import re
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final, final

from torch._C import DisableTorchFunction

from framesmith.guards.guard_set import GuardSet, split_tensors
from framesmith.guards.guards import Guard
from framesmith.guards.kinds.aliasing import first_pair
from framesmith.guards.kinds.base import Relation
from framesmith.guards.kinds.containers import IteratorExhaustedAfter, IteratorHasAtLeast, KeysAre, LengthIs
from framesmith.guards.kinds.shapes import ShapeExpression
from framesmith.guards.kinds.tensor import TensorChange, TensorIs
from framesmith.guards.kinds.values import EqualTo
from framesmith.guards.scope import Scope
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.steps import CallResult, InstanceDict

#: What reading a path or checking a claim may raise when the program's objects have changed: a miss, not an error.
MISSES: tuple[type[Exception], ...] = (
    AttributeError,
    LookupError,
    TypeError,
    NameError,
    ValueError,
    ArithmeticError,
    RuntimeError,
)

# sympy's printer puts the number on either side.
_FIXES: Final = re.compile(r"\(?(\{0\} == -?\d+|-?\d+ == \{0\})\)?")


@final
@dataclass(frozen=True, slots=True)
class ValueChange:
    """A number that was guarded by value and has another value now (of the same type, int or float)."""

    was: int | float
    found: int | float


@final
@dataclass(frozen=True, slots=True)
class Failure:
    """A guard that does not hold. The structured fields are for the policy that makes sizes and numbers dynamic."""

    guard: Guard
    text: str
    tensor_change: TensorChange | None = None
    value_change: ValueChange | None = None
    #: Sources of immutable values, containers and iterators that kept their type and were fixed to a value or content.
    overspecialized: tuple[Source, ...] = ()

    @property
    def is_of_another_kind(self) -> bool:
        """Whether the source may give an object of another kind now, not just another value or content."""
        return not (self.overspecialized or self.tensor_change or self.value_change)

    @property
    def user_frame(self) -> str | None:
        """The user's line for which the guard was made (`/path/file.py:12 in forward`), if it is known."""
        return self.guard.reason.user_frame

    @property
    def source(self) -> Source | None:
        """The source of the value that failed; None for a relation."""
        return self.guard.source


def first_failure(guard_set: GuardSet, scope: Scope) -> Failure | None:
    """The first guard that does not hold, or None; agrees with the generated condition."""
    scope = scope.with_memory()
    for guard in guard_set:
        failure = _failure_of(guard, scope)
        if failure is not None:
            return failure
    return _same_tensor_twice(guard_set, scope)


@final
@dataclass(frozen=True, slots=True)
class Examination:
    """Why an entry does not fit: all failed guards, and the sources that have the value or content which the entry is for."""

    failures: list[Failure]
    accepted: frozenset[Source]


def all_failures(guard_set: GuardSet, scope: Scope) -> list[Failure]:
    """Every guard that does not hold, for reports."""
    return examine(guard_set, scope).failures


def examine(guard_set: GuardSet, scope: Scope) -> Examination:
    """Check every guard, for reports and for the dynamic-shapes policy.

    A value is accepted if all guards that fix it hold: an iterator may have a least and a most number of items. Guards
    behind a failed one on another kind of object are not asked: they were made for another kind, and would consume an
    iterator or run the user's code.

    The values of the call are inspected with torch functions disabled, so that no torch-function mode that the user
    has entered meanwhile sees it.
    """
    scope = scope.with_memory()
    failures: list[Failure] = []
    broken: set[Source] = set()  # of another kind now: guards on what is read from them say nothing new
    fixed: dict[bool, set[Source]] = {True: set(), False: set()}  # by whether the guard holds
    for guard in guard_set:
        if broken and any(broken.intersection((one, *one.ancestors())) for one in guard.sources):
            continue
        # The state of the process is asked as it is: it includes whether torch functions are disabled.
        with DisableTorchFunction() if guard.sources else nullcontext():
            failure = _failure_of(guard, scope)
        fixed[failure is None].update(fixed_sources(guard))
        if failure is not None:
            failures.append(failure)
            broken.update(_of_another_kind(guard) if failure.is_of_another_kind else ())
    # Behind a failure the paths to some of the tensors may be gone.
    twice = None if failures else _same_tensor_twice(guard_set, scope)
    return Examination(failures if twice is None else [twice], frozenset(fixed[True] - fixed[False]))


def fixed_sources(guard: Guard) -> tuple[Source, ...]:
    """The sources of immutable values, containers and iterators that a guard fixes to one value or content.

    For the result of a function of a container (the order of a set) the container is among them.
    """
    claim, source = guard.claim, guard.source
    if isinstance(claim, Relation):
        return _fixed_numbers(claim)
    assert source is not None
    if isinstance(claim, EqualTo):
        return (source, source.base) if isinstance(source, CallResult) else (source,)
    if (
        isinstance(claim, LengthIs | KeysAre)
        or (isinstance(claim, IteratorHasAtLeast) and claim.count > 1)
        or (isinstance(claim, IteratorExhaustedAfter) and claim.count)
    ):
        return (source,)
    return ()


def _of_another_kind(guard: Guard) -> Sequence[Source]:
    """The sources of a failed guard, from which nothing else is read, and the holders of instance dictionaries among them."""
    holders = [source.base for source in guard.sources if isinstance(source, InstanceDict)]
    return [*guard.sources, *holders]


def _failure_of(guard: Guard, scope: Scope) -> Failure | None:
    try:
        values = [scope.value_of(source) for source in guard.sources]
    except MISSES as error:
        return Failure(guard, f"{_named(guard)}: can no longer be read ({type(error).__name__}: {error})")
    try:
        if _holds(guard, values):
            return None
        return _explain(guard, values)
    except MISSES as error:
        return Failure(guard, f"{guard.text()}: could not be checked ({type(error).__name__}: {error})")


def _holds(guard: Guard, values: Sequence[object]) -> bool:
    if isinstance(guard.claim, Relation):
        return guard.claim.holds(values)
    return guard.claim.check(values[0])


def _explain(guard: Guard, values: Sequence[object]) -> Failure:
    claim, fixed = guard.claim, fixed_sources(guard)
    if isinstance(claim, Relation):
        return Failure(guard, claim.explain(values), overspecialized=fixed)
    assert guard.source is not None
    text = claim.explain(values[0], guard.source)
    if isinstance(claim, TensorIs):
        return Failure(guard, text, tensor_change=claim.change(values[0]))
    if isinstance(claim, EqualTo):
        change = _value_change(claim.value, values[0])
        kept_type = type(values[0]) is type(claim.value)
        return Failure(guard, text, value_change=change, overspecialized=fixed if kept_type else ())
    return Failure(guard, text, overspecialized=fixed)


def _fixed_numbers(claim: Relation) -> tuple[Source, ...]:
    """The numbers that a relation fixes to one value (`{0} == 3`); empty if it does not."""
    if not isinstance(claim, ShapeExpression) or len(claim.sources) != 1:
        return ()
    # A computed number is fixed by what it is computed from.
    if claim.template.startswith("same({0}, "):
        return tuple(dict.fromkeys(claim.sources[0].leaves()))
    return claim.all_sources if _FIXES.fullmatch(claim.template) else ()


def _value_change(was: object, found: object) -> ValueChange | None:
    if type(was) is not type(found) or type(was) not in (int, float):
        return None
    assert isinstance(was, int | float) and isinstance(found, int | float)
    return ValueChange(was, found)


def _same_tensor_twice(guard_set: GuardSet, scope: Scope) -> Failure | None:
    """The failure where two sources give one tensor: they are distinct objects unless a guard says `SameObject`."""
    tensors = [*split_tensors(guard_set).distinct.items()]
    # The scope remembers the values, so no id is used twice.
    marks = [id(scope.value_of(source)) for source, _ in tensors]
    if len({*marks}) == len(marks):
        return None
    left, right = first_pair(marks)
    source, claim = tensors[right]
    text = f"{tensors[left][0].text()} and {source.text()} were two tensors and are one now"
    return Failure(Guard(source, claim), text)


def _named(guard: Guard) -> str:
    return ", ".join(source.text() for source in guard.sources)
