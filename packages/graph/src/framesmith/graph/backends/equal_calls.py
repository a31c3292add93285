"""Results of equal calls, which AOTAutograd may make one: it merges equal calls of a graph that it differentiates.

    a = torch.layer_norm(x, (4,))
    b = torch.layer_norm(x, (4,))
    return a, b                         two tensors in eager, here one: a write to the one changes the other

torch keeps apart what is returned, but not where a call gives several tensors, as that of `layer_norm` does inside. What a call is
made of is known only then, so whatever may become equal calls counts here: the constants and the names are not asked for, and a nested
graph may hold any.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import fx

from framesmith.graph.backends.backend import load_later
from framesmith.graph.backends.unused_operations import bodies_of
from framesmith.graph.fakes.execution import all_storages, is_differentiated, storages_of
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in


@contextmanager
def equal_calls_kept(graph: fx.Graph) -> Iterator[None]:
    """For the duration of the block, in this thread, AOTAutograd merges no equal calls, if a result of this closed graph may be one."""
    if not _may_share(graph):
        yield
        return
    with load_later("aot settings").patch(cse=False):
        yield


def _may_share(graph: fx.Graph) -> bool:
    """Whether a result has memory of its own, and what may be an equal call gives other memory; a nested graph may have one."""
    results = graph.output_node().all_input_nodes
    if not any(map(is_differentiated, results)):
        return False
    returned = all_storages(results)
    returned -= all_storages(graph.find_nodes(op="placeholder"))
    if returned and any(map(bodies_of, graph.nodes)):
        return True
    numbers: dict[fx.Node, int] = {}
    known: dict[object, int] = {}
    memories: dict[int, set[int]] = {}
    for node in graph.nodes:
        if node.op == "output":
            continue
        number = _number(node, numbers, known)
        if isinstance(node.meta.get(EXAMPLE), torch.Tensor):
            memories.setdefault(number, set()).update(storages_of(node))
    return any(len(found) > 1 and not found.isdisjoint(returned) for found in memories.values())


def _number(node: fx.Node, numbers: dict[fx.Node, int], known: dict[object, int]) -> int:
    """The number of what a node gives, the same for all that may be equal; a view has that of the tensor."""
    operands = node.all_input_nodes
    own = storages_of(node)
    base = next((one for one in operands if own and own == storages_of(one)), None)
    if base is not None:
        numbers[node] = numbers[base]
        return numbers[base]
    key: object = node
    if node.op in ("call_function", "call_method"):
        form = tuple((value.dtype, value.ndim) for value in tensors_in(node.meta.get(EXAMPLE)))
        # the second result of a call is not the first one
        places = (
            [one for one in node.args[1:] if isinstance(one, int)]
            if operands and _is_item(operands[0])
            else []
        )
        key = (frozenset(numbers[one] for one in operands), form, *places)
    numbers[node] = known.setdefault(key, len(known))
    return numbers[node]


def _is_item(parent: fx.Node) -> bool:
    return not isinstance(parent.meta.get(EXAMPLE), torch.Tensor)
