"""Inputs with a history that a graph overwrites before it reads them.

    self.last.copy_(loss)          in each step of a training loop

Eager forgets the history of the step before. AOTAutograd gives a gradient of zeros to it, and the backward pass goes on into that step,
of which the saved tensors are freed.
"""

from collections.abc import Collection, Sequence
from typing import Final

import torch
from torch import fx

from framesmith.graph.fakes.execution import storage_of, storages_of
from framesmith.graph.fakes.histories import has_history
from framesmith.graph.inputs.inputs import Input
from framesmith.graph.operations.data_errors import operator_name
from framesmith.guards.sources.base import Source

OVERWRITING: Final = frozenset({"copy_", "fill_", "setitem", "zero_"})
"""The names of operations of which the result does not depend on what the tensor held, of a store if it is one to `x[:]` or `x[...]`."""


def overwrites_histories(graph: fx.Graph, used: Sequence[Input], written: Collection[Source]) -> bool:
    """Whether the first operation on the memory of an input that has a history, by gradient functions outside, overwrites all of it."""
    candidates = {
        storage_of(entry.example): entry.node
        for entry in used
        if entry.source in written and isinstance(entry.example, torch.Tensor) and has_history(entry.value)
    }
    for node in graph.nodes if candidates else ():
        if node.op not in ("call_function", "call_method"):
            continue
        for operand in node.all_input_nodes:
            for storage in storages_of(operand) & candidates.keys():
                placeholder = candidates.pop(storage)
                others = (*node.args[1:], *node.kwargs.values())
                is_target = bool(node.args) and node.args[0] is placeholder and placeholder not in others
                if is_target and _overwrites(node):
                    return True
    return False


def _overwrites(node: fx.Node) -> bool:
    name = operator_name(node.op, node.target)
    return name in OVERWRITING and (name != "setitem" or node.args[1] in (..., slice(None)))
