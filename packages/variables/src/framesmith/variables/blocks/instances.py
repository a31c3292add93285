"""Match a second module against a recorded call.

Whether it may do what the plan of that call says, and what the trace has to know of it afterwards. Not here: the plan,
in `blocks.recordings`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import fx

from framesmith.graph.shapes.dynamic_dims import STATIC_DIMS
from framesmith.guards import Family, Guard, Member, Source
from framesmith.guards.kinds import Claim, DistinctObjects, Relation, SameObject
from framesmith.guards.sources.rebase import Rebase
from framesmith.variables.blocks.recordings import Inside, Part, Plan
from framesmith.variables.core import TraceContext
from framesmith.variables.tensors.tensor_inputs import repeat_tensor
from framesmith.variables.tensors.tensors import TensorTracker
from framesmith.variables.wrapping.wrap import Wrapper


@final
@dataclass(slots=True, eq=False)
class Match:
    """A module that fits a plan; never changed. `values`: its part for each part of the plan, and `sources`, where each is; `shared`: the paths
    of parts that are the very objects of the first module, below which nothing has to be guarded again; `rebase` gives its
    sources for the plan's."""

    plan: Plan
    source: Source
    values: Sequence[object]
    sources: Sequence[Source]
    shared: frozenset[Source]
    rebase: Rebase


def find_match(
    tx: TraceContext, wrapper: Wrapper, plan: Plan, module: object, source: Source
) -> Match | None:
    """How the module at `source` matches the plan; None if it does not. No code of the user runs."""
    if not tx.wrap.policy.is_static_below(source):
        return None
    values = None if plan.checks is None else plan.checks.values(module)
    if values is None or plan.moves is None:
        return None
    rebase, sources = plan.moves.move(source)
    if not _are_distinct_alike(wrapper, plan.parts, values, sources):
        return None
    if not _hold_relations(wrapper, plan, module, values):
        return None
    if not _are_sizes_fixed(tx, plan.parts, values, sources):
        return None
    shared = frozenset(
        [part.source for part, value in zip(plan.parts, values, strict=True) if part.value is value]
    )
    return Match(plan, source, values, sources, shared, rebase)


def _are_distinct_alike(
    wrapper: Wrapper, parts: Sequence[Part], values: Sequence[object], sources: Sequence[Source]
) -> bool:
    """Whether the values at the sources are the same object where the parts of the plan are, and different where those are. A part
    that the first module did not have for itself has to be the very same one; any other is that, or one that was not read
    from anywhere else."""
    # one to one: no object of the first module stands for two of the second, nor the other way round
    images: dict[int, object] = {}
    used: dict[int, object] = {}
    has_changes = wrapper.has_changes()
    for part, value, source in zip(parts, values, sources, strict=True):
        image = images.setdefault(id(part.value), value)
        if image is not value or used.setdefault(id(value), part.value) is not part.value:
            return False
        if part.value is value:
            continue
        first = wrapper.first_source(value)
        if not part.is_inside or not (first is None or first == source):
            return False
        # of what the trace has changed, guards say nothing: only the very same object holds the same
        if has_changes and (wrapper.has_changed(part.value) or wrapper.has_changed(value)):
            return False
    return True


def _hold_relations(wrapper: Wrapper, plan: Plan, module: object, values: Sequence[object]) -> bool:
    """Whether what the first call found to be one object, or two, is so for this module: `self is last` is not, of the last."""
    if not plan.relations:
        return True
    inside = {part.source: value for part, value in zip(plan.parts, values, strict=True)}
    inside[plan.recording.root] = module
    for guard in plan.relations:
        assert isinstance(guard.claim, Relation)
        found = [
            (inside[one],) if one in inside else wrapper.object_at(one) for one in guard.claim.all_sources
        ]
        objects = [one[0] for one in found if one is not None]
        if len(objects) < len(found) or not guard.claim.holds(objects):
            return False
    return True


def _are_sizes_fixed(
    tx: TraceContext, parts: Sequence[Part], values: Sequence[object], sources: Sequence[Source]
) -> bool:
    """Whether the policy makes no size of a tensor among the values symbolic."""
    for part, value, source in zip(parts, values, sources, strict=True):
        if part.tracker is not None and part.value is not value and isinstance(value, torch.Tensor):
            dims = tx.wrap.policy.dynamic_dims(source, value)
            if dims is not STATIC_DIMS and not dims.is_static(value.dim()):
                return False
    return True


def adopt(tx: TraceContext, wrapper: Wrapper, match: Match) -> Mapping[fx.Node, fx.Node]:
    """Let the trace know the parts of the match, and guard them. Returns its inputs of the graph, by those of the plan."""
    plan, rebase = match.plan, match.rebase
    inside = plan.insides.get(match.shared)
    # kept with the plan, since the layers of a stack share the same parts with the first one
    if inside is None:
        inside = plan.insides[match.shared] = Inside(match.shared)
    _add_guards(tx, match, inside)
    _note_facts(tx, match, rebase, inside)
    nodes: dict[fx.Node, fx.Node] = {}
    for node, place in plan.inputs.items():
        if inside.is_empty or not inside(plan.parts[place].source):
            source = match.sources[place]
            # the trace may have read this very source before, which then has its input
            known = wrapper.find(source)
            if isinstance(known, TensorTracker):
                nodes[node] = known.graph_node(tx)
            else:
                nodes[node] = repeat_tensor(tx, wrapper, match.values[place], source).node
    read = {*plan.inputs.values()} if inside.is_empty else frozenset[int]()
    for place, (part, value, source) in enumerate(zip(plan.parts, match.values, match.sources, strict=True)):
        if place in read:
            continue
        first = part.source
        if inside.is_empty or not inside(first):
            # noted, so that a later look at it from elsewhere is guarded as one at the same object
            if wrapper.find(source) is None:
                wrapper.note(value, source)
        elif first in match.shared and not (first.base is not None and inside(first.base)):
            tx.wrap(value, source)  # for the guard that both modules have it
    return nodes


def _add_guards(tx: TraceContext, match: Match, inside: Inside) -> None:
    """Guard the match as a member of a family, or the modules below it that are members; the rest one by one."""
    plan, rebase = match.plan, match.rebase
    if plan.members and all(tx.guards.is_apart(rebase(root)) for _, root in plan.members.roots):
        _move(tx, plan.members.above, rebase, inside)
        for inner, first in plan.members.roots:
            root = rebase(first)
            tx.guards.add_member(Member(inner, root, Rebase(inner.root, root)))
        _move(tx, plan.members.after, rebase, inside)
        return
    family = _family(plan, match.shared, inside) if tx.guards.is_apart(match.source) else None
    if family is not None:
        tx.guards.add_member(Member(family, match.source, rebase))
    # the family says the claims of the module; guards that compare sources are added one by one
    _move(tx, plan.guards if family is None else plan.relations, rebase, inside)


def _move(tx: TraceContext, guards: Iterable[Guard], rebase: Rebase, inside: Inside) -> None:
    for guard in guards:
        moved = _moved(guard, rebase, inside)
        if moved is not None:
            tx.guards.add(moved)


def _family(plan: Plan, shared: frozenset[Source], inside: Inside) -> Family | None:
    """The family of the modules that share these parts with the first one: the claims about all else, if there are any."""
    if shared not in plan.families:
        claims = [guard for guard in plan.guards if guard.source is not None and not inside(guard.source)]
        given = [plan.parts[place].source for place in plan.inputs.values()]
        inputs = [source for source in given if not inside(source)]
        made = Family(plan.recording.root, tuple(claims), tuple(inputs)) if claims else None
        plan.families[shared] = made
    return plan.families[shared]


def _moved(guard: Guard, rebase: Rebase, inside: Inside) -> Guard | None:
    """The guard for the other module; None for what is said of a part that both share."""
    claim = guard.claim
    if isinstance(claim, Claim):
        assert guard.source is not None
        return None if inside(guard.source) else Guard(rebase(guard.source), claim, guard.reason)
    if isinstance(claim, SameObject):
        return Guard.relation(SameObject(rebase(claim.left), rebase(claim.right)), guard.reason)
    assert isinstance(claim, DistinctObjects)
    return Guard.relation(DistinctObjects(tuple(map(rebase, claim.sources))), guard.reason)


def _note_facts(tx: TraceContext, match: Match, rebase: Rebase, inside: Inside) -> None:
    """Note for the other module what was read of the first, for the check that guards cover it."""
    facts = tx.guards.facts
    if facts is None:
        return
    first = match.plan.recording.root
    for fact in list(facts.facts.values()):
        if (fact.source == first or first in fact.source.ancestors()) and not inside(fact.source):
            facts.note(fact.what, rebase(fact.source), fact.name)
