"""Results that are laid out otherwise in AOTAutograd's fakes than in eager (`fakes.real_strides`): whether that shows.

`y = x // d; z = y.contiguous(); z.add_(1); return y`: for AOTAutograd `y` is contiguous already, so that it takes `z` for `y`.
"""

from typing import Final

from torch import fx

from framesmith.graph.fakes.execution import all_storages, storages_of
from framesmith.graph.fakes.real_strides import may_differ
from framesmith.graph.fakes.written_memories import memories_written_by
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.operations.data_errors import operator_name

_MAY_COPY: Final = frozenset(["contiguous", "reshape", "reshape_as", "flatten", "unflatten", "ravel", "to"])


def writes_behind_other_strides(graph: fx.Graph) -> bool:
    """Whether the graph writes to a result of this kind, or to what may be a copy of it."""
    different: set[int] = set()
    copied = False
    for node in graph.nodes:
        if node.op not in ("call_function", "call_method"):
            continue
        name, storages = operator_name(node.op, node.target), storages_of(node)
        operands = tensors_in([one.meta.get(EXAMPLE) for one in node.all_input_nodes])
        if may_differ(name, node.kwargs, operands):
            different |= storages
        elif name in _MAY_COPY and not different.isdisjoint(all_storages(node.all_input_nodes)):
            different |= storages
            copied = True
        elif copied and not different.isdisjoint(memories_written_by(node)):
            return True
    return False
