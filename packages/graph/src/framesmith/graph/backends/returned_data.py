"""Results of a graph that are `data` of a tensor, for a backend that gives a view of that (AOTAutograd).

d = p.data; print(); d.mul_(2)  eager: `d` has a version counter of its own, and a backward pass that needs `p` is none the wiser
"""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import torch
from torch import fx

from framesmith.graph.backends.saved_reads import views_of
from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.inputs.inputs import is_wrapper
from framesmith.graph.nodes.arguments import EXAMPLE


def find_data(graph: fx.Graph) -> dict[int, int]:
    """The positions of the outputs of a closed graph that are `data` of a tensor, with the version that each has in eager."""
    values = cast(Sequence[object], graph.output_node().args[0])
    # what writes to it gives it again
    data = {id(node.meta[EXAMPLE]) for node in _readers(graph)}
    return {
        position: cast(torch.Tensor, node.meta[EXAMPLE])._version
        for position, node in enumerate(values)
        if isinstance(node, fx.Node) and id(node.meta[EXAMPLE]) in data
    }


def returns_views_of_data(graph: fx.Graph) -> bool:
    """Whether a result is a view of `data`, which has the counter of that and not of the tensor."""
    returned = {*graph.output_node().all_input_nodes}
    readers = _readers(graph)
    data = {id(node.meta[EXAMPLE]) for node in readers}
    return any(
        id(one.meta[EXAMPLE]) not in data
        for node in readers
        for one in returned & views_of(node, storage_of(node.meta[EXAMPLE]))
    )


def _readers(graph: fx.Graph) -> Sequence[fx.Node]:
    """The operations that read `data`."""
    return [node for node in graph.find_nodes(op="call_function", target=getattr) if _reads_data(node)]


def _reads_data(node: fx.Node) -> bool:
    value = node.meta.get(EXAMPLE)
    return (
        node.args[1:] == ("data",)
        and isinstance(value, torch.Tensor)
        and not is_wrapper(value)
        and not value.is_inference()
    )


def give_own_counters(
    call: Callable[..., tuple[object, ...]], versions: Mapping[int, int]
) -> Callable[..., tuple[object, ...]]:
    """The call, of which the results at these positions share memory with others, and no version counter."""

    def run(*values: object) -> tuple[object, ...]:
        results = list(call(*values))
        for position, version in versions.items():
            result = cast(torch.Tensor, results[position]).data
            torch._C._autograd._unsafe_set_version_counter((result,), (version,))
            results[position] = result
        return tuple(results)

    return run
