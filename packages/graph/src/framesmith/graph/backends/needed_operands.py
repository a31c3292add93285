"""Writes in place to an input that has a history then, of which the gradient needs what the input held.

x.sin_()                        eager saves a copy of what `x` held
x.mul_(w)                       AOTAutograd saves `x`, and writes to it when the graph has run: the backward pass is refused
"""

from collections.abc import Iterator, Sequence, Set
from typing import Final

import torch
from torch import fx

from framesmith.graph.fakes.execution import is_differentiated, storage_of, storages_of
from framesmith.graph.fakes.histories import has_history
from framesmith.graph.fakes.written_memories import memories_written_by
from framesmith.graph.inputs.inputs import Input
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.operations.data_errors import operator_name
from framesmith.graph.operations.purity import is_normalization

_TAKES_NOTHING: Final = (
    "add_ sub_ subtract_ iadd isub __iadd__ __isub__ neg_ negative_ fill_ zero_ copy_ setitem __setitem__ masked_fill_ masked_scatter_ "
    "scatter_ scatter_add_ index_add_ index_copy_ index_fill_ index_put_ detach_ requires_grad_ "
    "relu_ relu exp_ tanh_ sigmoid_ sqrt_ rsqrt_ reciprocal_ tan_ expm1_ dropout_ dropout feature_dropout_ alpha_dropout_ threshold_ "
    "threshold leaky_relu_ leaky_relu squeeze_ unsqueeze_ t_ transpose_ as_strided_ swapaxes_ swapdims_"
)
_NEEDS_NOTHING: Final = frozenset(_TAKES_NOTHING.split())
"""Of these the gradient needs nothing of the target, or what was written."""
_HAVE_FACTORS: Final = "mul_ multiply_ imul __imul__ div_ divide_ true_divide_ itruediv __itruediv__"
_NEED_A_FACTOR: Final = frozenset(_HAVE_FACTORS.split())
"""Of these the gradient of the other operand needs the target."""


def needs_written_operands(graph: fx.Graph, used: Sequence[Input]) -> bool:
    """Whether an operation writes to an input that has a history then, and its gradient needs what was there. A parameter has none."""
    memories = {storage_of(entry.example) for entry in used if isinstance(entry.example, torch.Tensor)}
    written = _written_nodes(graph, memories) if memories else ()
    return any(_has_history(node) and _needs_target(node) for node in written)


def _has_history(node: fx.Node) -> bool:
    return any(map(has_history, tensors_in(node.meta.get(EXAMPLE))))


def _written_nodes(graph: fx.Graph, memories: Set[int]) -> Iterator[fx.Node]:
    """What writes to its first operand, which has one of these memories. The statistics of a normalization are no history."""
    for node in graph.nodes:
        target = node.args[0] if node.args else None
        if not isinstance(target, fx.Node) or is_normalization(node.target):
            continue
        if not memories.isdisjoint(storages_of(target) & memories_written_by(node)):
            yield node


def _needs_target(node: fx.Node) -> bool:
    name = operator_name(node.op, node.target)
    if name in _NEED_A_FACTOR:
        return any(map(is_differentiated, node.all_input_nodes[1:]))
    return name not in _NEEDS_NOTHING
