"""From a guard set to one Python expression: what the dispatcher evaluates before it enters an entry.

The guards on `x.fc.weight` and `x.fc.bias` become, in essence

    type(__fs_t0 := x.__dict__['_modules']['fc']) is Linear and CHECK(x, (__fs_t1 := __fs_t0.__dict__...)['weight'], ...)

where every path is read once, into a temporary. Order: the global state; the versioned guards; the other guards in the
order they were added; all tensors in one native call; then guards on what is read from tensors (sizes), and relations.
"""

import contextlib
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import torch

from framesmith.guards import torch_adapter
from framesmith.guards.dependencies import dependencies_of
from framesmith.guards.failure import MISSES
from framesmith.guards.families import Family, is_worth_a_loop, members_by_family
from framesmith.guards.family_checks import MEMBER, FamilyCheck, FamilyLoop, Schedule, write_check
from framesmith.guards.guard_set import GuardSet, Tensors, split_tensors
from framesmith.guards.guards import Guard
from framesmith.guards.kinds.aliasing import SameObject
from framesmith.guards.kinds.ambient import GlobalState
from framesmith.guards.kinds.base import Claim, Relation
from framesmith.guards.kinds.containers import HasKey
from framesmith.guards.kinds.presence import Present
from framesmith.guards.kinds.tensor import TensorIs
from framesmith.guards.kinds.types import TypeIs
from framesmith.guards.names import PREFIX, Path
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.containers import Item
from framesmith.guards.sources.rebase import Rebase
from framesmith.guards.sources.roots import Local, Own
from framesmith.guards.sources.values import ValuesOf
from framesmith.guards.versioned import versioned_guards
from framesmith.guards.writer import ConditionWriter

_PLAIN_DICT = TypeIs(dict)


@final
@dataclass(frozen=True, slots=True)
class Program:
    """A generated check. `condition` is one expression over local names, temporaries and `constants`.

    It is true when every guard holds. An exception out of `misses` while it is evaluated means that they do not
    (a path is gone): the dispatcher evaluates it inside `try: ... except misses: ...`.
    Once it was true, `loads[i]` gives the i-th preloaded source; the temporaries are local names of the dispatcher.
    """

    condition: str
    loads: tuple[str, ...]
    constants: dict[str, object]
    terms: tuple[str, ...]
    temporaries: tuple[str, ...]
    misses: tuple[type[Exception], ...] = MISSES


def compile_guards(
    guard_set: GuardSet,
    preload: Sequence[Source] = (),
    *,
    prefix: str = PREFIX,
    local_names: Mapping[str, str] | None = None,
    dispatcher_locals: Collection[str] | None = None,
) -> Program:
    """The generated check for the guards of the set, and for reading the `preload` sources.

    `prefix` starts the names of the constants (one prefix per entry of a dispatcher; temporaries are shared).
    `local_names` maps a local variable to its spelling in the dispatcher where the two differ.
    `dispatcher_locals`: all local names of the dispatcher. If it is given, a global that none of them hides is read by
    its bare name, which is the fastest (the dispatcher's globals are the user's); otherwise by a call of `read_global`.
    """
    writer = ConditionWriter(prefix, local_names or {}, dispatcher_locals)
    for guard in _ambient(guard_set):
        _add_ambient(guard, guard_set, writer)
    steps = Schedule(guard_set, _family_checks(guard_set)).steps
    loops = [step for step in steps if isinstance(step, FamilyLoop)]
    tensors = split_tensors(guard_set)
    # Native code checks the tensors between the two: guards that read from a tensor never meet a value that is no tensor.
    early, late = _phases(steps, tensors.sources)
    guards = [step for step in steps if not isinstance(step, FamilyLoop)]
    # A loop reads the roots of its members.
    read = [*preload, *[member.root for loop in loops for member in loop.members]]
    implied = _find_implied(guards, read) | _read_anyway(guards, read)
    plain = [step for step in (*early, *late) if not isinstance(step, FamilyLoop) and step not in implied]
    done = implied | _add_versioned(plain, writer)
    for step in early:
        if isinstance(step, FamilyLoop):
            _add_loop(step, preload, writer)
        elif step not in done:
            _add(step, writer)
    _add_tensors(guard_set, tensors, loops, writer)
    for guard in late:
        if guard not in done:
            _add(guard, writer)
    for source in preload:
        writer.preload(source)
    written = writer.finish()
    condition = " and ".join(written.terms) or "True"
    return Program(condition, written.loads, written.constants, written.terms, written.temporaries)


def _add_versioned(guards: Sequence[Guard], writer: ConditionWriter) -> set[Guard]:
    """Render the guards that rest on classes, modules and functions alone as one term (ADR 0008); returns these guards."""
    facts = versioned_guards(guards)
    if facts is None:
        return set()
    facts.recheck()  # now, so that the first call finds the versions known
    writer.add(facts.render(writer))
    return {*facts.facts}


def _find_implied(guards: Sequence[Guard], preload: Sequence[Source]) -> set[Guard]:
    """The guards `HasKey` on plain dictionaries whose item is read anyway: a missing key is a miss by its KeyError."""
    # A relation of several sources may read some of them only sometimes.
    needed = (*preload, *(source for guard in guards if not guard.sources[1:] for source in guard.sources))
    read = {
        (source.base, source.key) for source in needed if isinstance(source, Item) and _is_text(source.key)
    }
    # A subclass may have a `__missing__`, which answers for a key that is not there.
    plain = {guard.source for guard in guards if guard.claim == _PLAIN_DICT}
    return {
        guard
        for guard in guards
        if isinstance(guard.claim, HasKey)
        and guard.claim.present
        and guard.source in plain
        and _is_text(guard.claim.key)
        and (guard.source, guard.claim.key) in read
    }


def _read_anyway(guards: Sequence[Guard], preload: Sequence[Source]) -> set[Guard]:
    """The guards `Present` on sources that something else reads: one that cannot be read is a miss by its exception."""
    read: set[Source] = set()
    # They cannot stand in for one another: then none of them would be left to read the source.
    held = [guard for guard in guards if isinstance(guard.claim, Present)]
    if not held:
        return set()
    others = (source for guard in guards if not isinstance(guard.claim, Present) for source in guard.sources)
    below = (
        guard.source.base for guard in held if guard.source is not None and guard.source.base is not None
    )
    for source in (*preload, *others, *below):
        step: Source | None = source
        while step is not None and step not in read:
            read.add(step)
            step = step.base
    return {guard for guard in held if guard.source in read}


def _is_text(key: object) -> bool:
    return type(key) is str


def _ambient(guard_set: GuardSet) -> list[Guard]:
    return [
        guard
        for guard in guard_set.relations
        if isinstance(guard.claim, Relation) and not guard.claim.all_sources
    ]


def _phases(
    steps: Iterable[Guard | FamilyLoop], tensors: Container[Source]
) -> tuple[list[Guard | FamilyLoop], list[Guard]]:
    """The guards to check before and after the tensors: after are relations, and what is read from a tensor."""
    rests: dict[Source, bool] = {}
    early: list[Guard | FamilyLoop] = []
    late: list[Guard] = []
    for guard in steps:
        if isinstance(guard, FamilyLoop):
            early.append(guard)
            continue
        if isinstance(guard.claim, TensorIs):
            continue
        if isinstance(guard.claim, Relation):
            if guard.claim.all_sources:
                late.append(guard)
        else:
            assert guard.source is not None
            (late if _rests_on(guard.source, tensors, rests) else early).append(guard)
    return early, late


def _rests_on(source: Source, tensors: Container[Source], known: dict[Source, bool]) -> bool:
    """Whether the path to a source leads through a tensor."""
    found = known.get(source)
    if found is None:
        base = source.base
        found = base is not None and (base in tensors or _rests_on(base, tensors, known))
        known[source] = found
    return found


def _add_ambient(guard: Guard, guard_set: GuardSet, writer: ConditionWriter) -> None:
    claim = guard.claim
    assert isinstance(claim, Relation)
    if isinstance(claim, GlobalState):
        # The native check compares dispatch keys in force, which answers a part of this claim (`torch_adapter`).
        native = any(item.spec.example() is not None for _, item in guard_set.tensors)
        writer.add(claim.render((), writer, beside_tensors=native))
    else:
        writer.add(claim.render((), writer))


def _add(guard: Guard, writer: ConditionWriter) -> None:
    claim = guard.claim
    if isinstance(claim, Relation):
        expressions = [writer.source(source) for source in claim.all_sources]
        # A relation may evaluate a source only sometimes (the right of an `or`), where no temporary may be bound.
        if not claim.reads_all:
            for source in claim.all_sources:
                writer.read_now(source)
        writer.add(claim.render(expressions, writer))
        return
    assert guard.source is not None
    _add_claim(guard.source, claim, writer)


def _add_claim(source: Source, claim: Claim, writer: ConditionWriter) -> None:
    lowered = claim.lower(source)
    if lowered is None:
        if writer.is_new(source, claim):
            writer.add(claim.render(writer.source(source), writer))
        return
    for inner_source, inner_claim in lowered:
        _add_claim(inner_source, inner_claim, writer)


def _add_tensors(
    guard_set: GuardSet, tensors: Tensors, loops: Sequence[FamilyLoop], writer: ConditionWriter
) -> None:
    """One native call for all tensors that it can check; a Python check for each of the rest."""
    rest = dict(tensors.distinct)
    looped = [rest.pop(source).spec for loop in loops for source in loop.values]
    native, examples = [], []
    for source, claim in rest.items():
        example = claim.spec.example()
        if example is None:
            writer.add(claim.render(writer.source(source), writer))
        else:
            native.append((source, claim.spec))
            examples.append(example)
    for source, claim in tensors.apart:
        writer.add(claim.render(writer.source(source), writer))
    known: dict[int, torch.Tensor | None] = {}  # tensors of one family share their claims
    for spec in looped:
        if id(spec) not in known:
            known[id(spec)] = spec.example()
    examples += [found for spec in looped if (found := known[id(spec)]) is not None]
    # In the order of the arguments below: what loops read comes last.
    held = [spec for _, spec in native] + looped
    if held:
        # It stores the keys in force: those of a call, not those of the trace with its fake mode.
        with _state_of(guard_set):
            check = torch_adapter.tensor_check(
                examples, [spec.sizes or () for spec in held], [spec.strides or () for spec in held]
            )
        for source, spec in native:
            if spec.cls is torch.Tensor or (spec.cls is torch.nn.Parameter and source.base is None):
                writer.add(_not_nested(spec.cls, writer.source(source), writer))
        arguments = [writer.source(source) for source, _ in native]
        arguments += [f"*{writer.source(loop)}" for loop in loops if loop.values]
        writer.add(f"{writer.constant(check, 'tensors')}({', '.join(arguments)})")


def _add_loop(loop: FamilyLoop, preload: Sequence[Source], writer: ConditionWriter) -> None:
    """The check of a family. What it read is read from its result from now on."""
    writer.add(f"{writer.source(loop)} is not None")
    places: dict[Path, int] = {source: place for place, source in enumerate(loop.values)}
    writer.hold_items(loop, places)
    for source in preload:
        if isinstance(source, ValuesOf):
            first = places.get(source.sources[0], -1)
            if first >= 0 and loop.values[first : first + len(source.sources)] == source.sources:
                whole = len(source.sources) == len(loop.values)
                writer.hold(source, loop, "" if whole else f"[{first}:{first + len(source.sources)}]")


def _family_checks(guard_set: GuardSet) -> dict[Family, FamilyCheck]:
    """The functions of the families that have enough members, where one function can check all of them."""
    members = members_by_family(guard_set.items)
    if not members:
        return {}
    related = {source for guard in guard_set.relations for source in _sources_of_one_object(guard)}
    found = {}
    for family, held in members.items():
        # A tied weight occurs in two members, and the native check refuses one tensor twice.
        tied = related and any(source in related for one in held for source, _ in one.tensors)
        check = None if tied or not is_worth_a_loop(held) else _check_of(family)
        if check is not None:
            found[family] = check
    return found


def _sources_of_one_object(guard: Guard) -> tuple[Source, ...]:
    """Sources that a guard says are one object; the native check of tensors gets one of them."""
    return guard.claim.all_sources if isinstance(guard.claim, SameObject) else ()


def _check_of(family: Family) -> FamilyCheck | None:
    """The function of a family, rendered for a member in a local variable. None if a guard has to be checked elsewhere: with
    the program, after the tensors, or not by native code."""
    rebase = Rebase(family.root, Local(MEMBER))
    guard_set = GuardSet(Guard(rebase(guard.source), guard.claim) for guard in family.guards if guard.source)
    guards, tensors = [*guard_set], split_tensors(guard_set)
    early, late = _phases(guards, tensors.sources)
    if (
        late
        or tensors.apart
        or any(dependencies_of(guard) is not None for guard in family.guards)
        or any(claim.spec.example() is None for claim in tensors.distinct.values())
        or not {*family.inputs}.issubset(guard.source for guard in family.guards)
    ):
        return None
    inputs = tuple(map(rebase, family.inputs))
    others = tuple(source for source in tensors.distinct if source not in inputs)
    writer = ConditionWriter(PREFIX, {}, None)
    implied = _find_implied(guards, (*inputs, *others)) | _read_anyway(guards, (*inputs, *others))
    for guard in early:
        if not isinstance(guard, FamilyLoop) and guard not in implied:
            _add(guard, writer)
    for source, claim in tensors.distinct.items():
        if claim.spec.cls is torch.Tensor:
            writer.add(_not_nested(claim.spec.cls, writer.source(source), writer))
    for source in (*inputs, *others):
        writer.preload(source)
    written = writer.finish()
    # The function is made once for all that share the entry, apart from the user's globals.
    if any(value is globals or type(value) is Own for value in written.constants.values()):
        return None  # it reads what belongs to the compiled function
    return write_check(written, len(inputs))


def _not_nested(cls: type, tensor: str, writer: ConditionWriter) -> str:
    """A term that is false for a nested tensor of this class: the native check would abort the process on one.

    The caller asks for it for plain tensors and for parameters that are roots (a local, a global), not for the
    parameters of a module: there are many, and modules do not get nested ones.
    """
    is_plain = f"{writer.constant(type, 'type')}({tensor}) is {writer.constant(cls, cls.__name__)}"
    return f"{is_plain} and not {tensor}.is_nested"


def _state_of(guard_set: GuardSet) -> contextlib.AbstractContextManager[object]:
    """A context with the dispatch keys in force when the global state was captured; the present ones if it is not guarded."""
    for guard in guard_set:
        if isinstance(guard.claim, GlobalState):
            return guard.claim.dispatch.force()
    return contextlib.nullcontext()
