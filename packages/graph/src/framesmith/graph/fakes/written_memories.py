"""Which memories an operation of a graph writes to, as torch's schemas say.

    y.add_(x)                              that of `y`
    torch.add(x, 1, out=y)                 that of `y`
    F.batch_norm(x, mean, var, training=True)      those of `mean` and `var`

Not here: whether it writes at all, which the recorder has found out and marked, and when it does (`writes`).
"""

from torch import fx

from framesmith.graph.fakes.execution import all_storages
from framesmith.graph.operations.purity import IMPURE, is_normalization
from framesmith.graph.operations.written_parameters import written_parameters


def memories_written_by(node: fx.Node) -> set[int]:
    """The storages that an operation may write to; empty for one that only computes. Of one without a schema those of all operands."""
    if node.op not in ("call_function", "call_method") or not node.meta.get(IMPURE, True):
        return set()
    # a normalization writes to its statistics alone, which stand behind its input
    if is_normalization(node.target):
        return all_storages(node.all_input_nodes[1:])
    written: list[fx.Node] = []
    for position, name in written_parameters(node.op, node.target):
        given = node.kwargs.get(name, node.args[position] if 0 <= position < len(node.args) else None)
        fx.node.map_arg(given, written.append)
    return all_storages(written or node.all_input_nodes)
