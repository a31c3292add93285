"""What a backend that makes a graph of its own for the backward pass has to keep for it, since it cannot be computed from inputs again.

    y = x * weight.bfloat16()          eager keeps the copy
    weight.data.mul_(2)                the caller, before the backward pass
    y.sum().backward()                 a copy made now would hold other numbers

AOTAutograd keeps an input where it could keep what was read of it, and computes that once more. What is computed from values that
nothing else holds may be computed again.
"""

from typing import Final

import torch
from torch import fx
from torch.utils.checkpoint import CheckpointPolicy

from framesmith.graph.fakes.execution import all_storages, is_differentiated, storages_of

MARK: Final = "recompute"
"""The key under which torch's partitioners look for a policy."""
KEPT: Final = CheckpointPolicy.MUST_SAVE


def keep_what_inputs_give(graph: fx.Graph) -> None:
    """Mark in a closed graph what is computed from an input, if gradients go through it at all: if the backward pass needs it, it is to
    be kept. A view of an input is as good as the input, of which eager keeps one too. A callable of the user gets the marks too, since nothing
    tells whether it hands the graph to AOTAutograd."""
    if not any(map(is_differentiated, graph.output_node().all_input_nodes)):
        return
    inputs = all_storages(graph.find_nodes(op="placeholder"))
    for node in graph.nodes:
        if _is_computed_from(node, inputs):
            node.meta.setdefault(MARK, KEPT)


def forget_kept(graph: fx.Graph) -> None:
    """Take the marks off again, of a graph that is handed out and not compiled."""
    for node in graph.nodes:
        if node.meta.get(MARK) is KEPT:
            del node.meta[MARK]


def _is_computed_from(node: fx.Node, inputs: set[int]) -> bool:
    # a nested graph may say by itself what is computed again
    if node.op not in ("call_function", "call_method") or isinstance(
        node.target, torch._ops.HigherOrderOperator
    ):
        return False
    own = storages_of(node)
    return bool(own) and own.isdisjoint(inputs) and not all_storages(node.all_input_nodes).isdisjoint(inputs)
