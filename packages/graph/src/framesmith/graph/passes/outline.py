"""Repeated operations as calls of one shared subgraph (torch's `invoke_subgraph`), which a compiler compiles once.

    a = relu(x @ w0)                    a = invoke_subgraph(body, "repeated_0", x, w0)
    b = relu(a @ w1)         ->         b = invoke_subgraph(body, "repeated_0", a, w1)
                                        body(x, w): return relu(x @ w)

The graph itself is left as it is: what is made is another module for the backend (ADR 0023).
"""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import torch
from torch import fx

from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.nodes.arguments import EXAMPLE, operands_of, tensors_in
from framesmith.graph.operations.purity import IMPURE, is_foreign, is_random
from framesmith.graph.running.module_calls import make_plain

Stretch: TypeAlias = tuple[fx.Node, ...]
Group: TypeAlias = tuple[Stretch, ...]
"""Stretches of one graph with the same operations in the same order."""

_FEWEST: Final = 4
"""Operations of a stretch for which a subgraph pays: below, a compiler loses more by not fusing across its border."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """One stretch as a call: the values it takes, and those that are used after it, in the order of the shared body."""

    stretch: Stretch
    operands: tuple[fx.Node, ...]
    results: tuple[fx.Node, ...]


def outline(module: fx.GraphModule, groups: Iterable[Group]) -> fx.GraphModule:
    """The module with repeated stretches as calls of shared subgraphs; the module itself if there are none."""
    taken: set[fx.Node] = set()
    regions: dict[fx.Node, tuple[int, Region]] = {}
    bodies: list[Region] = []
    places = {node: place for place, node in enumerate(module.graph.nodes)}
    # The largest first: a node is in one stretch only.
    for group in sorted(groups, key=lambda one: -len(one) * len(one[0])):
        found = _regions(group, taken, places)
        if len(found) < 2:
            continue
        for region in found:
            taken.update(region.stretch)
            regions[region.stretch[-1]] = len(bodies), region
        bodies.append(found[0])
    return _rewrite(module, bodies, regions, taken) if bodies else module


def _regions(group: Group, taken: set[fx.Node], places: Mapping[fx.Node, int]) -> list[Region]:
    """The stretches of a group that can become calls of one body."""
    stretches = [one for one in group if not any(node in taken for node in one)]
    if len(stretches) < 2:
        return []
    alive = [place for place in range(len(group[0])) if all(one[place] in places for one in stretches)]
    if any(node in places and place not in alive for one in stretches for place, node in enumerate(one)):
        return []  # unused results were dropped in some of them only
    kept = [tuple(one[place] for place in alive) for one in stretches]
    if len(alive) < _FEWEST or not all(map(_can_outline, kept[0])):
        return []
    used = [
        place
        for place in range(len(alive))
        if any(
            user not in one_set for one, one_set in ((k, set(k)) for k in kept) for user in one[place].users
        )
    ]
    found = [Region(one, operands_of(one), tuple(one[place] for place in used)) for one in kept]
    same = _shape_of_operands(kept[0])
    return [
        one
        for one in found
        if _shape_of_operands(one.stretch) == same and _is_closed(one, places) and not _aliases(one)
    ]


def _can_outline(node: fx.Node) -> bool:
    value = node.meta[EXAMPLE]
    return (
        not node.meta.get(IMPURE, True)
        and not is_random(node)
        and not is_foreign(node.target)
        and (isinstance(value, torch.Tensor | tuple | list))
    )


def _shape_of_operands(stretch: Stretch) -> list[tuple[int, ...]]:
    """Which values each operation takes, as positions among operands and results: equal for equal stretches."""
    number = {node: place for place, node in enumerate((*operands_of(stretch), *stretch))}
    return [tuple(number[one] for one in node.all_input_nodes) for node in stretch]


def _is_closed(region: Region, places: Mapping[fx.Node, int]) -> bool:
    """Whether all it takes is there before its end, and nothing uses a result before that."""
    end = places[region.stretch[-1]]
    return all(places[one] < end for one in region.operands) and all(
        places[user] > end for node in region.results for user in node.users if user not in region.stretch
    )


def _aliases(region: Region) -> bool:
    """Whether a result is no tensor, or shares memory with another one or an operand: a subgraph may not return that."""
    results = [node.meta[EXAMPLE] for node in region.results]
    if not all(isinstance(one, torch.Tensor) for one in results):
        return True
    storages = [storage_of(one) for one in results if isinstance(one, torch.Tensor)]
    given = {storage_of(one) for node in region.operands for one in tensors_in(node.meta[EXAMPLE])}
    return len(set(storages)) < len(storages) or not given.isdisjoint(storages)


def _rewrite(
    module: fx.GraphModule,
    bodies: Sequence[Region],
    regions: Mapping[fx.Node, tuple[int, Region]],
    taken: set[fx.Node],
) -> fx.GraphModule:
    root = torch.nn.Module()
    for name, value in (
        *module.named_children(),
        *module.named_parameters(recurse=False),
        *module.named_buffers(recurse=False),
    ):
        setattr(root, name, value)
    for number, region in enumerate(bodies):
        setattr(root, _name(number), _body(region))
    graph = fx.Graph()
    made: dict[fx.Node, fx.Node] = {}
    subgraphs: dict[int, fx.Node] = {}
    for node in module.graph.nodes:
        if node in regions:
            number, region = regions[node]
            if number not in subgraphs:
                subgraphs[number] = graph.get_attr(_name(number))
            _call(graph, subgraphs[number], _name(number), region, made)
        elif node not in taken:
            made[node] = graph.node_copy(node, made.__getitem__)
    return make_plain(fx.GraphModule(root, graph, class_name="FramesmithGraph"))


def _name(number: int) -> str:
    return f"repeated_{number}"


def _body(region: Region) -> fx.GraphModule:
    graph = fx.Graph()
    made: dict[fx.Node, fx.Node] = {}
    for operand in region.operands:
        made[operand] = graph.placeholder(operand.name)
        made[operand].meta[EXAMPLE] = operand.meta[EXAMPLE]
    for node in region.stretch:
        made[node] = graph.node_copy(node, made.__getitem__)
    graph.output(tuple(made[node] for node in region.results))
    return make_plain(fx.GraphModule(torch.nn.Module(), graph))


def _call(graph: fx.Graph, body: fx.Node, name: str, region: Region, made: dict[fx.Node, fx.Node]) -> None:
    # The name tells torch which calls have one body.
    target: Callable[..., object] = torch.ops.higher_order.invoke_subgraph
    call = graph.call_function(target, (body, name, *(made[one] for one in region.operands)))
    call.meta[EXAMPLE] = tuple(node.meta[EXAMPLE] for node in region.results)
    for place, node in enumerate(region.results):
        made[node] = graph.call_function(operator.getitem, (call, place))
        made[node].meta[EXAMPLE] = node.meta[EXAMPLE]
