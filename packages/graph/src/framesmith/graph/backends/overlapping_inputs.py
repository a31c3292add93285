"""Inputs that overlap and are written in a way that AOTAutograd refuses or does not see. A graph of such inputs runs as it was captured.

a, b = base[:-1], base[1:]         views of one tensor: AOTAutograd puts that tensor in their place
b.data = base[1:]                  the same storage without that history: refused
b = torch.from_dlpack(base)        another storage over the same memory: taken for apart
return a[1:]                       with the first: made anew of `base` instead of `a`
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

import torch
from torch import fx

from framesmith.graph.fakes.execution import storage_of as fake_storage_of
from framesmith.graph.fakes.execution import storages_of
from framesmith.graph.inputs.inputs import Input, with_memory
from framesmith.graph.options import is_symbolic
from framesmith.guards.kinds.aliasing import address_range, base_relation, storage_of
from framesmith.guards.sources.base import Source
from framesmith.guards.torch_adapter import finds_overlap

_MOST_ELEMENTS: Final = 1 << 16


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Where a tensor lies: its storage, and its first byte and the one behind its last. `is_written`: by the graph."""

    tensor: torch.Tensor
    storage: int
    start: int
    end: int
    is_written: bool


def overlap_unseen(used: Sequence[Input], written: Collection[Source]) -> bool:
    """Whether inputs overlap, one of them written, that AOTAutograd cannot order."""
    if not written:
        return False
    with torch._C.DisableTorchFunction():  # no subclass is asked
        places = list(_places(used, written))
        touched = set[int]()
        for one, other in _overlaps(places):
            if one.storage != other.storage or _is_missed(one.tensor, other.tensor):
                return True
            touched.add(one.storage)
        # Without a common base it makes one of the storage, where nothing is differentiated and all sizes are numbers.
        is_plain = not any(place.tensor.requires_grad for place in places) and not any(map(_varies, used))
        for storage in touched:
            group = [place for place in places if place.storage == storage]
            # of the gradients of several written views of one base it finds one
            if sum(place.is_written for place in group) > 1 and any(
                one.tensor.requires_grad for one in group
            ):
                return True
            first, *others = (place.tensor for place in group)
            relations = {base_relation(first, other) for other in others}
            same_type = all(other.dtype == first.dtype for other in others)
            if not same_type or not (relations == {True} or (relations == {None} and is_plain)):
                return True
    return False


def returns_views_of_overlapping(graph: fx.Graph, used: Sequence[Input], written: Collection[Source]) -> bool:
    """Whether a result is a view of one of two inputs that overlap, one of them written."""
    if not written:
        return False
    with torch._C.DisableTorchFunction():  # no subclass is asked
        touched = {one.storage for one, _ in _overlaps(list(_places(used, written)))}
        memories = {
            fake_storage_of(entry.example)
            for entry in used
            if isinstance(entry.value, torch.Tensor)
            and isinstance(entry.example, torch.Tensor)
            and any(storage_of(part) in touched for part in with_memory(entry.value))
        }
    return bool(memories) and any(
        node.op != "placeholder" and not memories.isdisjoint(storages_of(node))
        for node in graph.output_node().all_input_nodes
    )


def _places(used: Sequence[Input], written: Collection[Source]) -> Iterator[_Place]:
    for entry in used:
        if isinstance(entry.value, torch.Tensor):
            for part in with_memory(entry.value):
                start, end = address_range(part)
                if start < end:
                    yield _Place(part, storage_of(part), start, end, entry.source in written)


def _overlaps(places: Sequence[_Place]) -> Iterator[tuple[_Place, _Place]]:
    """Pairs of which one is written."""
    open_ones: list[_Place] = []
    for place in sorted(places, key=lambda one: one.start):
        open_ones = [one for one in open_ones if one.end > place.start]
        yield from ((one, place) for one in open_ones if one.is_written or place.is_written)
        open_ones.append(place)


def _is_missed(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether an element is in both tensors, and AOTAutograd does not see that."""
    if one.layout is not torch.strided or other.layout is not torch.strided or finds_overlap(one, other):
        return False
    if one.dtype != other.dtype or max(one.numel(), other.numel()) > _MOST_ELEMENTS:
        return True  # rather as captured than counted
    return not _places_of_elements(one).isdisjoint(_places_of_elements(other))


def _places_of_elements(tensor: torch.Tensor) -> set[int]:
    found = {int(tensor.storage_offset())}
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        found = {place + stride * step for place in found for step in range(size)}
    return found


def _varies(entry: Input) -> bool:
    """Whether the sizes of an input are symbolic."""
    return entry.layout is not None and any(
        map(is_symbolic, (*entry.layout[0], *entry.layout[1], entry.layout[2]))
    )
