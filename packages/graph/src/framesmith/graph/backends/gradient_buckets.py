"""Where a graph is divided, so that gradients are ready one bucket after the other and not all at once (ADR 0033).

    parameters a b | c d      data parallel training reduces the gradients of c and d while the backward pass
    layers     1 2 | 3 4      computes those of a and b: the border is before the third layer

`DistributedDataParallel` reduces a bucket when the last of its gradients is there, and a backward graph gives all that it has at its
end. Here: the borders. How a graph is divided at them and compiled: `parts`.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import pairwise
from typing import Final, TypeAlias

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.fakes.written_memories import memories_written_by
from framesmith.graph.nodes.arguments import example
from framesmith.graph.operations.data_errors import may_raise
from framesmith.graph.operations.purity import is_collective, is_random, is_switch
from framesmith.graph.options import GradientBuckets, is_symbolic
from framesmith.graph.running.failures import changes

_SET_GRADIENTS: Final = torch._C._set_grad_enabled
Kind: TypeAlias = tuple[torch.dtype, torch.device]


def find_borders(
    nodes: Sequence[fx.Node], inputs: Mapping[fx.Node, object], buckets: GradientBuckets
) -> list[int]:
    """The operations before which the graph is divided, as positions in `nodes`, which are those without inputs and output. `inputs`
    are the placeholders with the existing objects.

    A gradient is there when the backward pass has left the first operation that uses the parameter. A border that is not allowed
    where the bucket is full is looked for further to the front.
    """
    sizes = _first_uses(nodes, inputs, buckets)
    places = {node: place for place, node in enumerate(nodes)}
    borders: list[int] = []
    filled: dict[Kind, int] = {}
    full: dict[Kind, int] = {}
    is_due = False
    for place in range(len(nodes) - 1, 0, -1):
        for kind, size in sizes.pop(place, ()):
            filled[kind] = filled.get(kind, 0) + size
            if filled[kind] >= (buckets.size if full.get(kind) else buckets.first):
                full[kind] = full.get(kind, 0) + 1
                filled[kind] = 0
                is_due = True
        if not sizes:
            break
        if is_due and _allows_border(nodes, place, places):
            borders.append(place)
            is_due = False
    return borders[::-1]


def _first_uses(
    nodes: Sequence[fx.Node], inputs: Mapping[fx.Node, object], buckets: GradientBuckets
) -> dict[int, list[tuple[Kind, int]]]:
    """The sizes of the parameters by the first operation that uses each."""
    places = {node: place for place, node in enumerate(nodes)}
    found: dict[int, list[tuple[Kind, int]]] = {}
    for node, value in inputs.items():
        used = [places[user] for user in node.users if user in places]
        if id(value) in buckets.parameters and isinstance(value, torch.Tensor) and used:
            kind = (value.dtype, value.device)
            found.setdefault(min(used), []).append((kind, value.numel() * value.element_size()))
    return found


def crossing(nodes: Sequence[fx.Node], border: int, places: Mapping[fx.Node, int]) -> list[fx.Node]:
    """The values of operations before the border that are used behind it. Numbers are computed again there, constants are read again."""
    found = dict.fromkeys(
        argument
        for node in _users(nodes, border)
        for argument in needed(node)
        if places.get(argument, border) < border
    )
    return list(found)


def needed(node: fx.Node) -> Iterator[fx.Node]:
    """The values that an operation takes, those by which its numbers are computed in place of the numbers."""
    for argument in node.all_input_nodes:
        if is_number(argument):
            yield from needed(argument)
        elif argument.op != "get_attr":
            yield argument


def is_number(node: fx.Node) -> bool:
    """Whether it is arithmetic on symbolic numbers."""
    return node.op == "call_function" and is_symbolic(example(node)) and bool(node.all_input_nodes)


def _users(nodes: Sequence[fx.Node], border: int) -> Iterator[fx.Node]:
    yield from nodes[border:]
    yield nodes[0].graph.output_node()


def _allows_border(nodes: Sequence[fx.Node], border: int, places: Mapping[fx.Node, int]) -> bool:
    """Whether the two parts together do what the graph does."""
    before, behind = nodes[:border], nodes[border:]
    across = crossing(nodes, border, places)
    memories = {storage_of(fake) for node in across if isinstance(fake := example(node), torch.Tensor)}
    return (
        bool(across)
        and all(map(_is_plain, across))
        and _leaves_switches(before, behind)
        # a backend does not see that two of its inputs share memory, and one of them is written
        and memories.isdisjoint(_written(behind))
        # an operation that fails is looked for by running the captured ones once more, on the inputs
        and not (any(map(_changes_lastingly, before)) and any(map(may_raise, behind)))
    )


def _is_plain(node: fx.Node) -> bool:
    """Whether a backend can be given a value that it is told of by its shape alone."""
    fake = example(node)
    if type(fake) is not FakeTensor:
        return False
    with torch._C.DisableTorchFunction():
        return (
            fake.layout is torch.strided
            and not (fake.is_nested or fake.is_inference() or fake.is_conj() or fake.is_neg())
            and type(fake.storage_offset()) is int
            and fake.storage_offset() == 0
        )


def _leaves_switches(before: Sequence[fx.Node], behind: Sequence[fx.Node]) -> bool:
    """Whether torch's switches are at the border as at the beginning, where gradients are on."""
    switches = [node for node in before if _turns_switch(node)]
    if any(node.target is not _SET_GRADIENTS for node in switches):
        return False
    return not switches or switches[-1].args == (True,)


def _turns_switch(node: fx.Node) -> bool:
    # what only looks at a mask that is None gives nothing and takes nothing as well
    return is_switch(node) and getattr(node.target, "__module__", None) != torch.nn.functional.__name__


def _written(nodes: Sequence[fx.Node]) -> Set[int]:
    """The memories that operations may write to."""
    found = set[int]()
    for node in nodes:
        if not is_collective(node):
            found |= memories_written_by(node)
    return found


def _changes_lastingly(node: fx.Node) -> bool:
    """Whether an operation does something besides computing that lasts when the call fails."""
    return changes(node) and not is_random(node)


def stretches(count: int, borders: Sequence[int]) -> list[tuple[int, int]]:
    """Begin and end of each part."""
    return list(pairwise((0, *borders, count)))
