"""`p.data = v` of an existing tensor, for a backend that replaces the captured operations: the store is made behind the graph.

    d = p.data; v = d - g; setattr(p, "data", v); return (y,)   ->   d = p.data; v = d - g; return (y, v)      then `p.data = v`

Nothing in the graph is differentiated through `p`, nor uses it behind the store (see `Writes.check_stored`).
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

import torch
from torch import fx

from framesmith.graph.inputs.inputs import Input
from framesmith.graph.inputs.writes import Writes

Stores: TypeAlias = Sequence[tuple[fx.Node, fx.Node]]
"""The inputs, and what they get, in the order of the program."""


def take_stores(graph: fx.Graph, writes: Writes, kept: Sequence[fx.Node]) -> tuple[Stores, Sequence[fx.Node]]:
    """Take those stores out of the graph that was recorded. It has to return their values as well as what is `kept`, and inputs that it
    would lose, since nothing else uses them."""
    stores = list[tuple[fx.Node, fx.Node]]()
    for node, tensor, value in writes.stores():
        stores.append((tensor, value))
        graph.erase_node(node)
    values = [value for _, value in stores]
    return stores, [*kept, *values, *(tensor for tensor, _ in stores if not tensor.users)]


def place_stores(graph: fx.Graph, stores: Stores, used: Sequence[Input]) -> Sequence[tuple[int, int]]:
    """Of each store the place among the inputs, and the place among the results of the graph, which is closed."""
    results = list(cast(Sequence[object], graph.output_node().args[0]))
    inputs = [entry.node for entry in used]
    return [(inputs.index(tensor), results.index(value)) for tensor, value in stores]


def store_behind(
    call: Callable[..., tuple[object, ...]], places: Sequence[tuple[int, int]]
) -> Callable[..., tuple[object, ...]]:
    """The call of a graph, with stores of its results in its inputs."""

    def run(*values: object) -> tuple[object, ...]:
        results = call(*values)
        for tensor, value in places:
            cast(torch.Tensor, values[tensor]).data = cast(torch.Tensor, results[value])
        return results

    return run if places else call
