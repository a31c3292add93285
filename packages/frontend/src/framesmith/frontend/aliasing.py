"""Guards that rest on a whole trace: changed objects are still different, written inputs share memory as they did.

`distinct_objects`: objects that were different in the trace are different on later calls too, where one is changed or
became a key by its identity. `distinct_storages`: inputs of a graph that writes to some of them share memory as they
did. `distinct_contents`: what the guards read out of a tensor is not written before it is read. `leaf_states`: those that it writes to are still no leaves. Not here: that two sources give the same object, which
is guarded when they are wrapped; the answer of `is`, guarded where it was asked for; the claims, in `guards.kinds.aliasing`.
"""

from itertools import combinations

import torch

from framesmith.graph import CompiledSubgraph
from framesmith.graph.inputs.inputs import memories_of
from framesmith.guards import Guard, Reason, Source
from framesmith.guards.kinds import (
    DistinctObjects,
    DistinctStorages,
    SameBase,
    SameOverlap,
    SameStorage,
    TensorProperty,
)
from framesmith.guards.kinds.aliasing import base_relation, overlap_of, share_no_memory, storage_of
from framesmith.guards.plain_tensors import read_unasked
from framesmith.guards.sources.new_objects import is_made
from framesmith.variables.core import MutationLog, Tracker
from framesmith.variables.tensors.tensors import TensorTracker
from framesmith.variables.wrapping.wrap import Wrapper

_CHANGED = Reason("one of them is changed", None)
_KEYS = Reason("they are keys by their identity", None)
_READ = Reason("the trace decided on what one of them holds, and the graph writes to others", None)
_WRITTEN = Reason("the graph writes to one of them", None)
_NO_LEAF = Reason("the graph writes to it, which a leaf refuses", None)


def distinct_objects(mutations: MutationLog[Tracker], wrapper: Wrapper) -> list[Guard]:
    """Changed objects, and keys by identity, are not the same object as any that differed from them in the trace."""
    # by exact type: objects of two types are never the same one
    classes = {tracker.python_type for tracker in mutations.changed_trackers()}
    sources: dict[type, list[Source]] = {cls: [] for cls in classes}
    for source, cls in wrapper.objects() if classes else ():
        if cls in sources:
            sources[cls].append(source)
    return [*_distinct(sources, _CHANGED), *_distinct(_keys(mutations), _KEYS)]


def _keys(mutations: MutationLog[Tracker]) -> dict[type, list[Source]]:
    """By type, the existing objects that were told apart as keys; tensors are left out, since their native check keeps all of them distinct."""
    found: dict[type, list[Source]] = {}
    for tracker in mutations.distinct_trackers():
        if tracker.source is not None and not issubclass(tracker.python_type, torch.Tensor):
            found.setdefault(tracker.python_type, []).append(tracker.source)
    return found


def _distinct(sources: dict[type, list[Source]], reason: Reason) -> list[Guard]:
    return [
        Guard.relation(DistinctObjects(tuple(dict.fromkeys(found))), reason)
        for found in sources.values()
        if len(set(found)) > 1
    ]


def distinct_storages(
    graph: CompiledSubgraph, wrapper: Wrapper, backend: object, *, are_counted: bool
) -> list[Guard]:
    """Inputs of a graph that writes to some of them share memory exactly as they did in the example.

    A backend may move reads and writes as far as the example's aliasing allows. The eager backend does not. But the trace itself may
    have decided by what eager says of an input that others share: how often it was written to (`are_counted`: the trace has asked),
    and whether it got a history. Then it is guarded for all backends, and for inputs that the graph does not use.
    """
    if not graph.touched:
        return []
    is_seen = are_counted or _got_history(graph, wrapper)
    if backend == "eager" and not is_seen:
        return []
    found = _tensors(wrapper)
    unused = [place for place in found if place is not None and not is_made(place)] if is_seen else ()
    groups: dict[int, list[Source]] = {}
    values: dict[Source, torch.Tensor] = {}
    with torch._C.DisableTorchFunction():  # no subclass is asked
        for source in dict.fromkeys((*graph.inputs, *unused)):
            # inputs that are numbers have no memory
            for place, value in memories_of(source, found[source]) if source in found else ():
                values[place] = value
                groups.setdefault(storage_of(value), []).append(place)
    guards = [
        Guard.relation(SameStorage(group[0], other), _WRITTEN)
        for group in groups.values()
        for other in group[1:]
    ]
    guards += [
        Guard.relation(SameOverlap(one, other, overlap_of(values[one], values[other])), _WRITTEN)
        for group in groups.values()
        for one, other in combinations(group, 2)
    ]
    guards += [
        Guard.relation(SameBase(group[0], other, base_relation(values[group[0]], values[other])), _WRITTEN)
        for group in groups.values()
        for other in group[1:]
    ]
    # one of each group will do: the guards above tie the others to it
    leaders = tuple(group[0] for group in groups.values())
    if len(groups) > 1 and share_no_memory(*(values[leader] for leader in leaders)):
        guards.append(Guard.relation(DistinctStorages(leaders), _WRITTEN))
    # else the graph runs as it was captured, but each storage has a history and counters of its own
    elif len(groups) > 1 and is_seen:
        guards.append(Guard.relation(DistinctStorages(leaders, by_memory=False), _WRITTEN))
    return guards


def _got_history(graph: CompiledSubgraph, wrapper: Wrapper) -> bool:
    """Whether an input requires a gradient since the graph wrote to it, as then do the tensors that it is a view of."""
    touched = set(graph.touched)
    trackers = (
        tracker for _, tracker in wrapper.list_wrapped_objects() if isinstance(tracker, TensorTracker)
    )
    return any(
        one.fake.requires_grad and one.value is not None and not read_unasked(one.value, "requires_grad")
        for one in trackers
        if one.source in touched
    )


def _tensors(wrapper: Wrapper) -> dict[Source | None, torch.Tensor]:
    return {
        tracker.source: value
        for value, tracker in wrapper.list_wrapped_objects()
        if issubclass(type(value), torch.Tensor) and isinstance(value, torch.Tensor)
    }


def distinct_contents(
    graph: CompiledSubgraph, mutations: MutationLog[Tracker], wrapper: Wrapper
) -> list[Guard]:
    """What the guards read out of tensors after the graph had written to others is in no memory that the graph writes to."""
    reads, written = tuple(mutations.content_reads), graph.touched
    if not reads or not written:
        return []
    found, sources = _tensors(wrapper), tuple(dict.fromkeys((*reads, *written)))
    with torch._C.DisableTorchFunction():  # no subclass is asked
        places = {source: storage_of(found[source]) for source in sources}
    if len(set(places.values())) == len(sources) > 1:
        return [Guard.relation(DistinctStorages(sources), _READ)]
    return [
        Guard.relation(DistinctStorages((one, other)), _READ)
        for one in reads
        for other in written
        if places[one] != places[other]
    ]


def leaf_states(graph: CompiledSubgraph, wrapper: Wrapper) -> list[Guard]:
    """A tensor with requires_grad that the graph writes to is still no leaf: autograd refuses to write to a leaf."""
    if not graph.mutated:
        return []
    written = set(graph.mutated)
    with torch._C.DisableTorchFunction():  # no subclass is asked
        return [
            Guard(tracker.source, TensorProperty.of(value, "is_leaf", False), _NO_LEAF)
            for value, tracker in wrapper.list_wrapped_objects()
            if tracker.source in written
            and isinstance(value, torch.Tensor)
            and value.requires_grad
            and not value.is_leaf
        ]
