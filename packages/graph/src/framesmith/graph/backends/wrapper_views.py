"""Tensors that wrap others, and tensors that share memory with what they hold.

    y = x.to_local()               x: a tensor of several processes
    x.add_(1)                      y has changed, too
    return x.t()

AOTAutograd knows of no memory that a wrapper shares with another tensor, but with a wrapper of its own class; and it makes a view anew by
`as_strided`, which the class of a wrapper need not know.
"""

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import fx
from torch._subclasses import FakeTensor

from framesmith.graph.inputs.inputs import Input, is_jagged, is_wrapper, memories
from framesmith.graph.nodes.arguments import EXAMPLE, example, tensors_in
from framesmith.graph.operations.purity import IMPURE


def shares_memory_of_wrappers(graph: fx.Graph, used: Sequence[Input]) -> bool:
    """Whether a closed graph returns a tensor that shares memory with an input or another result, or writes to what two tensors
    share, and one of the two is a wrapper."""
    seen = [one for node in graph.nodes for one in tensors_in(node.meta.get(EXAMPLE))]
    wrapped = _memories_of(one for one in seen if _wraps(one))
    if not wrapped:
        return False
    results = [one for node in graph.output_node().all_input_nodes for one in tensors_in(example(node))]
    given = [entry.example for entry in used if isinstance(entry.example, torch.Tensor)]
    return _are_shared([*results, *given], results) or _writes_to(
        graph, wrapped & _memories_of(_unwrapped(seen))
    )


def _are_shared(all_tensors: Iterable[torch.Tensor], results: Iterable[torch.Tensor]) -> bool:
    """Whether one of the results shares memory with another tensor, and one of the two is a wrapper."""
    places = {id(one): (one, set(memories(one))) for one in all_tensors}
    return any(
        one is not other and (_wraps(one) or _wraps(other)) and not places[id(one)][1].isdisjoint(place)
        for one in results
        for other, place in places.values()
    )


def _writes_to(graph: fx.Graph, shared: set[int]) -> bool:
    return any(
        not shared.isdisjoint(memories(one))
        for node in graph.nodes
        if node.meta.get(IMPURE)
        for operand in node.all_input_nodes
        for one in tensors_in(operand.meta.get(EXAMPLE))
    )


def _wraps(one: torch.Tensor) -> bool:
    return type(one) is not FakeTensor and is_wrapper(one) and not is_jagged(one)


def _unwrapped(tensors: Iterable[torch.Tensor]) -> Iterator[torch.Tensor]:
    return (one for one in tensors if not _wraps(one))


def _memories_of(tensors: Iterable[torch.Tensor]) -> set[int]:
    return {place for one in tensors for place in memories(one)}
