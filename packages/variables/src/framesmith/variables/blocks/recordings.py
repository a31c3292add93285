"""A call of a module as the trace saw it, and the plan by which it is repeated for another module.

A plan is made when a second call asks for it. It holds all that guards say below the module of the first call. As the guards
of an entry are complete, another module of which they say the truth does what the first did, as long as its parts are as
distinct from each other and from all else as those of the first (`instances` checks both).
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import final

import torch
from torch import fx

from framesmith.graph.nodes.arguments import example, operands_of
from framesmith.graph.nodes.arguments import tensors_in as fakes_in
from framesmith.graph.recording.module_stacks import ModuleStack
from framesmith.graph.recording.repetition import can_repeat, is_operation, may_fail_midway
from framesmith.guards import Family, Guard, Source
from framesmith.guards.families import FEWEST, members_by_family
from framesmith.guards.kinds import Claim, DistinctObjects, SameObject, TensorIs
from framesmith.guards.path_checks import PathChecks
from framesmith.guards.source_index import SourceIndex
from framesmith.guards.sources import TensorItem
from framesmith.guards.sources.rebase import RebasePattern, is_movable
from framesmith.variables.blocks.moments import Moment
from framesmith.variables.blocks.operands import known, tensors_in
from framesmith.variables.blocks.results import can_fill
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.core.reach import reachable
from framesmith.variables.tensors.tensors import TensorTracker
from framesmith.variables.wrapping.wrap import Wrapper


@final
@dataclass(frozen=True, slots=True)
class Repeated:
    """How many calls were repeated, and how many operations they recorded."""

    calls: int
    operations: int

    def __sub__(self, before: "Repeated") -> "Repeated":
        return Repeated(self.calls - before.calls, self.operations - before.operations)


@final
@dataclass(slots=True, eq=False)
class Recording:
    """A call of the module at a source, or of a function: what it was given, when it began and ended, what it returned. `names`: of the last arguments;
    `stack`: the user's frames that called it, `modules`: the calls of modules in which they stand; `repeated`: what of the trace had been repeated when it began,
    and then, what inside of it was; `asked`: how often a call asked for its plan; `above`: through what its
    module was reached (see `BlockCalls.see`); `looks_above`: the call had one of them at hand, through which it may reach its own module like any other;
    `names_given`: to nodes, when it had ended; `inside`: `modules` with the called one, once it was asked for."""

    source: Source | None
    arguments: tuple[Tracker, ...]
    names: tuple[str, ...]
    begin: Moment
    stack: str
    modules: ModuleStack
    repeated: Repeated
    end: Moment | None = None
    result: Tracker | None = None
    asked: int = 0
    above: frozenset[int] = frozenset()
    looks_above: bool = False
    names_given: int = 0
    inside: ModuleStack | None = None

    @property
    def root(self) -> Source:
        """The source of the module."""
        assert self.source is not None
        return self.source


@final
@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """An object with an identity that was read through the module. `tracker`: of a tensor that is an input of the graph."""

    source: Source
    value: object
    is_inside: bool
    tracker: TensorTracker | None


@final
class Inside:
    """Whether a source is that of a shared part, or is read through one."""

    def __init__(self, shared: frozenset[Source]) -> None:
        self._found: dict[Source, bool] = dict.fromkeys(shared, True)
        self.is_empty = not shared

    def __call__(self, source: Source) -> bool:
        if self.is_empty:
            return False
        found = self._found.get(source)
        if found is None:
            base = source.base
            found = self._found[source] = base is not None and self(base)
        return found


@final
@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """Modules below one that are members of families, or the first ones of these (`roots`), and the guards that the families do not
    say: those `above` the modules, and those to be added `after` them."""

    above: tuple[Guard, ...]
    roots: tuple[tuple[Family, Source], ...]
    after: tuple[Guard, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How to repeat a call."""

    recording: Recording
    guards: tuple[Guard, ...]
    """The guards on what is read below its module."""
    checks: PathChecks | None
    """Checks their claims, and reads the parts of another module."""
    moves: RebasePattern | None
    """Gives the sources below another module."""
    parts: tuple[Part, ...]
    """The objects below its module, in the order of their paths."""
    fixed: frozenset[int]
    """The positions of arguments that have to be the very same ones."""
    nodes: tuple[fx.Node, ...]
    """What the call recorded."""
    inputs: Mapping[fx.Node, int]
    """The inputs of the graph below its module that it uses: the places of these among the parts."""
    others: frozenset[fx.Node]
    """The remaining values from outside that it uses."""
    relations: tuple[Guard, ...]
    """Those of the guards that compare sources."""
    families: dict[frozenset[Source], Family | None]
    """The families of modules that share the same parts with the first one."""
    insides: dict[frozenset[Source], Inside]
    """What is read through these parts."""
    members: Members | None
    """Those of families below its module."""
    midway: dict[bool, bool]
    """Whether an operation may raise after another one has changed something, by whether something was changed before."""


def make_plan(tx: TraceContext, wrapper: Wrapper, index: SourceIndex, recording: Recording) -> Plan | None:
    """The plan of a call that has ended; None if it cannot be repeated."""
    begin, end, result = recording.begin, recording.end, recording.result
    # what came between must have left nothing behind, or a repeated call would lack it
    if end is None or result is None or recording.looks_above or not begin.continues(tx, end):
        return None
    nodes = tx.graph.stretch(begin.length, end.length)
    if nodes is None or not can_repeat(nodes) or not set(nodes).isdisjoint(tx.changes.moved):
        return None  # each call makes parameters of its own
    if recording.source is not None and not tx.wrap.policy.is_static_below(recording.source):
        return None
    arguments = tuple(map(known, recording.arguments))
    if not can_fill(result, arguments, set(nodes)):
        return None
    index.update(tx.guards)
    for source in wrapper.sources():
        index.add(source)
    below = [] if recording.source is None else index.below(recording.source)
    guards = index.guards_on(below)
    # the first of them is the module itself
    if not all(map(_is_readable, below[1:])) or not all(map(_is_movable, guards)):
        return None
    parts = _parts(wrapper, below, arguments)
    if parts is None:
        return None
    given = {tensor.node for tensor in tensors_in(arguments)}
    used = set(operands_of(nodes)) - given
    own = {
        part.tracker.node: place
        for place, part in enumerate(parts)
        if part.tracker is not None and part.tracker.node in used
    }
    # in the order of the graph's inputs, which decides that of the second module's
    inputs = {node: own[node] for node in tx.graph.graph.find_nodes(op="placeholder") if node in own}
    others = frozenset(used - set(inputs))
    if not all(map(_is_from_outside, others)) or not others.isdisjoint(map(tx.graph.input_at, below)):
        return None
    fixed = _fixed(index, arguments, tx.changes.told_apart[begin.told_apart : end.told_apart])
    relations = tuple(guard for guard in guards if guard.source is None)
    sources = [part.source for part in parts]
    claims = [(one.source, one.claim) for one in guards if one.source and isinstance(one.claim, Claim)]
    root = recording.source
    members = _members_below(tx, set(below[1:]), guards)
    return Plan(
        recording,
        tuple(guards),
        None if root is None else PathChecks(root, claims, sources),
        None if root is None else RebasePattern(root, sources),
        tuple(parts),
        fixed,
        nodes,
        inputs,
        others,
        relations,
        {},
        {},
        members,
        {},
    )


def _members_below(tx: TraceContext, below: Set[Source], guards: Sequence[Guard]) -> Members | None:
    """The modules below one (the layers of a stage) of which families speak, if that is most of what is guarded there. A guard set
    holds no member below another, so of such modules the outer ones are taken."""
    held: dict[Source, tuple[Family, Sequence[Guard]]] = {}
    for family, members in members_by_family(tx.guards.items).items():
        roots = {family.root: family.guards, **{one.root: one.guards for one in members}}
        found = {root: (family, said) for root, said in roots.items() if root in below}
        if len(found) >= FEWEST:
            held |= found
    held = {root: said for root, said in held.items() if held.keys().isdisjoint(root.ancestors())}
    said = {id(guard) for _, guards_there in held.values() for guard in guards_there}
    rest = [guard for guard in guards if id(guard) not in said]
    if 2 * len(rest) > len(guards):
        return None
    above = [
        one for one in rest if one.source and held.keys().isdisjoint((one.source, *one.source.ancestors()))
    ]
    after = set(map(id, rest)).difference(map(id, above))
    return Members(
        tuple(above),
        tuple([(family, root) for root, (family, _) in held.items()]),
        tuple([one for one in rest if id(one) in after]),
    )


def may_repeat_now(tx: TraceContext, plan: Plan) -> bool:
    """Whether the operations may be recorded in the present state of the graph, and still show what they showed."""
    has_changes = tx.graph.has_changes
    if has_changes not in plan.midway:
        plan.midway[has_changes] = may_fail_midway(plan.nodes, has_changes)
    return not plan.midway[has_changes] and not _has_other_metadata(tx, plan)


def _has_other_metadata(tx: TraceContext, plan: Plan) -> bool:
    """Whether an existing tensor, an operand or a tensor that an existing object holds has other metadata than when the call
    began, or a result other metadata than when it ended."""
    recording, changed = plan.recording, tx.graph.metadata_changes
    assert recording.end is not None
    begun = recording.begin.metadata_changes
    if changed.count == begun:
        return False
    held = reachable(tx.changes.changed_trackers()).values()
    operands = (
        *(tensor.fake for tensor in tensors_in(recording.arguments)),
        *(one.fake for one in held if isinstance(one, TensorTracker)),
        *_fakes((*plan.inputs, *plan.others)),
    )
    return (
        changed.inputs > begun
        or changed.concern(operands, begun)
        or changed.concern(_fakes(plan.nodes), recording.end.metadata_changes)
    )


def _fakes(nodes: Iterable[fx.Node]) -> list[torch.Tensor]:
    return [fake for node in nodes for fake in fakes_in(example(node))]


def _is_movable(guard: Guard) -> bool:
    return isinstance(guard.claim, Claim | SameObject | DistinctObjects)


def _is_readable(source: Source) -> bool:
    """Whether the same path can be read from another module while the trace goes on; contents of tensors cannot."""
    return is_movable(source) and not isinstance(source, TensorItem)


def _is_from_outside(node: fx.Node) -> bool:
    """Whether a value that a call used, and was not given, is an input of the graph or a size."""
    return node.op == "placeholder" or not is_operation(node)


def _parts(wrapper: Wrapper, below: Sequence[Source], arguments: Sequence[Tracker]) -> list[Part] | None:
    """The objects that were read at these paths; None if one of them is an argument, a number that may change, or unread."""
    parts: list[Part] = []
    inside = set(below)
    for source in below:
        tracker = wrapper.find(source)
        if tracker is None:
            value = wrapper.noted.get(source)
            if value is not None:
                parts.append(Part(source, value, wrapper.first_source(value) in inside, None))
            continue
        if tracker.is_unread or tracker.is_run_time_number or any(tracker is one for one in arguments):
            return None
        held = wrapper.object_of(tracker)
        if held is None:
            continue
        if isinstance(tracker, TensorTracker) and not tracker.dims.is_static(tracker.fake.dim()):
            return None
        is_inside = tracker.source in inside
        # one of a class of its own has inputs that no part gives
        if is_inside and isinstance(held[0], torch.Tensor) and not isinstance(tracker, TensorTracker):
            return None
        tensor = tracker if isinstance(tracker, TensorTracker) and is_inside else None
        parts.append(Part(source, held[0], is_inside, tensor))
    return parts


def _fixed(
    index: SourceIndex, arguments: Sequence[Tracker], pairs: Sequence[tuple[int, int]]
) -> frozenset[int]:
    """The places of arguments that have to be the very same ones: of which more than metadata was read, or of which the call asked
    whether they are something else than another argument (`pairs`)."""
    given = {id(tensor) for tensor in tensors_in(arguments)}
    compared = {one for pair in pairs if not given.issuperset(pair) for one in pair}
    return frozenset(
        place
        for place, argument in enumerate(arguments)
        if _shows_more(index, argument) or not compared.isdisjoint(map(id, tensors_in([argument])))
    )


def _shows_more(index: SourceIndex, argument: Tracker) -> bool:
    """Whether something else than the metadata of a tensor was read of an argument."""
    if not isinstance(argument, TensorTracker) or argument.source is None:
        return False
    below = index.below(argument.source)
    return any(
        guard.source is None or not isinstance(guard.claim, TensorIs) for guard in index.guards_on(below)
    )
