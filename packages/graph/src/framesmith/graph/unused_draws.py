"""Random numbers that a graph draws and does not need, for a backend that replaces operations.

Before: `torch.rand(3); return x * 2`. After: `r = torch.rand(3); w = r.detach().flatten()[:0].clone(); return x * 2, w`. AOTAutograd
drops what leads to no result, and then the generator would give other numbers afterwards than in eager. A graph with such draws in
a nested graph, whose results have their places, runs as it was captured.
"""

import operator
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Final, cast

import torch
from torch import fx
from torch._higher_order_ops.cond import cond_op
from torch._higher_order_ops.wrap import tag_activation_checkpoint

from framesmith.graph import transforms
from framesmith.graph.arguments import EXAMPLE, tensors_in
from framesmith.graph.execution import storages_of
from framesmith.graph.purity import IMPURE, is_outside_of_training, is_random
from framesmith.graph.replacing_backends import Reliance

_READ_NUMBERS: Final = frozenset({"item", "tolist", "as_number", "_local_scalar_dense"})

DRAWS: Final = "framesmith_draws"
"""The key of the mark of an operation that draws in code of the program: whether it draws what its own results do not need."""


def mark_draws(node: fx.Node, inside: fx.Graph, outputs: Sequence[fx.Node]) -> None:
    """Mark an operation that runs code of the program, of which `inside` is a recording with these outputs."""
    if any(map(_draws, inside.nodes)) or any(map(_bodies, inside.nodes)):
        node.meta[DRAWS] = bool(_unused(inside, outputs))


def _of_differentiate(node: fx.Node, place: int) -> int:
    count = len(cast(tuple[int, ...], node.args[1]))
    return max(0, place - count)  # all gradients are those of the first result


def _of_push_forward(node: fx.Node, place: int) -> int:
    count = cast(int, node.args[1])
    return place if place < count else place - count  # a tangent stands behind the results


def _as_in_body(_: fx.Node, place: int) -> int:
    return place


_PLACES: Final[dict[object, Callable[[fx.Node, int], int]]] = {
    transforms.map_batched: _as_in_body,
    transforms.differentiate: _of_differentiate,
    transforms.push_forward: _of_push_forward,
    cond_op: _as_in_body,
    tag_activation_checkpoint: _as_in_body,
}
"""The result of a nested graph from which an operation makes its result at a place; other operations need all, if they are needed."""


def witness_draws(graph: fx.Graph, outputs: Sequence[fx.Node], reliance: Reliance) -> list[fx.Node]:
    """Add an empty tensor made of each draw that may lead to no result; returns them, to be returned by the graph."""
    if reliance.is_certain or not any(map(_draws, graph.nodes)):
        return []
    unused = _unused(graph, outputs)
    if not unused or reliance.ask():
        return []
    return [witness for draw in filter(_draws, unused) if (witness := _witness(graph, draw)) is not None]


def drops_nested_draws(graph: fx.Graph) -> bool:
    """Whether a nested graph of a closed graph draws what may lead to no result of this one."""
    if not any(_bodies(node) or DRAWS in node.meta for node in graph.nodes):
        return False
    return not all(map(_draws, _unused(graph, graph.output_node().all_input_nodes)))


def _unused(graph: fx.Graph, outputs: Sequence[fx.Node]) -> list[fx.Node]:
    """The draws that no result may come from, in order: nothing that matters reads them, or their memory is written to afterwards,
    perhaps all of it. So are the operations with a nested graph of which this may be said."""
    wanted = {storage for node in outputs for storage in storages_of(node)}
    wanted |= {storage for node in graph.find_nodes(op="placeholder") for storage in storages_of(node)}
    needed, written, found = set(outputs), set[int](), list[fx.Node]()
    for node in reversed(graph.nodes):
        if node.op not in ("call_function", "call_method"):
            continue
        operands = {storage for one in node.all_input_nodes for storage in storages_of(one)}
        results = storages_of(node)
        changed = results | operands if node.meta.get(IMPURE) else results
        is_needed = node in needed or not wanted.isdisjoint(changed) or not (changed or node.users)
        if DRAWS in node.meta:
            if not is_needed or node.meta[DRAWS]:
                found.append(node)
        elif not _draws(node):
            if any(_drops(node, body, needed if is_needed else ()) for body in _bodies(node)):
                found.append(node)
        elif not (is_needed and written.isdisjoint(results)):
            found.append(node)
        if is_needed and not _reads_form(node):
            wanted |= operands
            needed.update(node.all_input_nodes)
        if node.meta.get(IMPURE):
            written |= changed
    return found[::-1]


def _bodies(node: fx.Node) -> list[fx.GraphModule]:
    """The nested graphs that an operation runs."""
    if node.op != "call_function":
        return []
    values = (one.meta.get(EXAMPLE) for one in node.all_input_nodes if one.op == "get_attr")
    return [value for value in values if isinstance(value, fx.GraphModule)]


def _drops(node: fx.Node, body: fx.GraphModule, needed: Collection[fx.Node]) -> bool:
    """Whether the nested graph draws what may lead to none of these results of the operation that runs it."""
    values = body.graph.output_node().args[0]
    results = list(values) if isinstance(values, tuple | list) else [values]
    place_of = _PLACES.get(node.target)
    if not needed:
        results = []
    elif place_of is not None and all(user.target is operator.getitem for user in node.users):
        results = [results[place_of(node, cast(int, user.args[1]))] for user in node.users if user in needed]
    return bool(_unused(body.graph, [one for one in results if isinstance(one, fx.Node)]))


def _name(node: fx.Node) -> str:
    return node.target if isinstance(node.target, str) else str(getattr(node.target, "__name__", ""))


def _draws(node: fx.Node) -> bool:
    """Whether the node draws, also into an existing tensor (`x.normal_()`)."""
    if node.op not in ("call_function", "call_method"):
        return False
    return is_random(node) or (_is_seeded(_name(node)) and not is_outside_of_training(node.args, node.kwargs))


@lru_cache(maxsize=4096)
def _is_seeded(name: str) -> bool:
    """Whether torch says of the operator that writes that it draws."""
    packet = getattr(torch.ops.aten, name, None) if name.endswith("_") else None
    # `__lt__` is a method of the table of operators itself.
    return isinstance(packet, torch._ops.OpOverloadPacket) and any(
        torch.Tag.nondeterministic_seeded in getattr(packet, one).tags for one in packet._overload_names
    )


def _reads_form(node: fx.Node) -> bool:
    """Whether the node looks at the form of its operands alone: `x.size()`, `torch.zeros_like(x)`, `x.new_ones(2)`."""
    name = _name(node)
    if not tensors_in(node.meta.get(EXAMPLE)):
        return not node.meta.get(IMPURE) and name not in _READ_NUMBERS
    return name.endswith("_like") or name.startswith("new_")


def _witness(graph: fx.Graph, draw: fx.Node) -> fx.Node | None:
    """The empty tensor, made right after the draw: a later write cannot take the draw away from it."""
    example = draw.meta[EXAMPLE]
    place = next((place for place, one in enumerate(_members(example)) if _is_plain(one)), None)
    if place is None:
        return None
    with graph.inserting_after(draw):
        node = draw
        if not isinstance(example, torch.Tensor):
            node = graph.call_function(operator.getitem, (draw, place))
            node.meta[EXAMPLE] = example = _members(example)[place]
        value = example.detach()
    for target, args in (("detach", ()), ("flatten", ()), ("narrow", (0, 0, 0)), ("clone", ())):
        with graph.inserting_after(node):
            node = graph.call_method(target, (node, *args))
        value = getattr(value, target)(*args)
        node.meta.update({EXAMPLE: value, IMPURE: False})
    return node


def _members(example: object) -> Sequence[object]:
    return example if isinstance(example, tuple | list) else (example,)


def _is_plain(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is torch.strided and not value.is_nested
