"""Which memories an operation of a graph writes to, as torch's schemas say.

    y.add_(x)                              that of `y`
    torch.add(x, 1, out=y)                 that of `y`
    F.batch_norm(x, mean, var, training=True)      those of `mean` and `var`

Not here: whether it writes at all, which the recorder has found out and marked, and when it does (`writes`).
"""

from functools import lru_cache

import torch
from torch import fx

from framesmith.graph.fakes.execution import all_storages
from framesmith.graph.operations.purity import IMPURE, is_foreign, is_normalization


def memories_written_by(node: fx.Node) -> set[int]:
    """The storages that an operation may write to; empty for one that only computes. Of one without a schema those of all operands."""
    if node.op not in ("call_function", "call_method") or not node.meta.get(IMPURE, True):
        return set()
    # a normalization writes to its statistics alone, which stand behind its input
    if is_normalization(node.target):
        return all_storages(node.all_input_nodes[1:])
    written: list[fx.Node] = []
    for position, name in _places(node.op, node.target):
        given = node.kwargs.get(name, node.args[position] if 0 <= position < len(node.args) else None)
        fx.node.map_arg(given, written.append)
    return all_storages(written or node.all_input_nodes)


@lru_cache(maxsize=4096)
def _places(op: str, target: object) -> tuple[tuple[int, str], ...]:
    """The positions (-1: none) and names of the parameters that some form of the operation writes to."""
    found = [
        (-1 if argument.kwarg_only else position, argument.name)
        for overload in _overloads(op, target)
        for position, argument in enumerate(overload._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    # `__setitem__` and `iadd` have no schema: such a method, or operator of Python, changes what stands first
    if not found and (op == "call_method" or getattr(target, "__module__", None) == "_operator"):
        found = [(0, "")]
    return tuple(dict.fromkeys(found))


def _overloads(op: str, target: object) -> list[torch._ops.OpOverload]:
    if isinstance(target, torch._ops.OpOverload):
        return [target]
    packet = target
    if not isinstance(target, torch._ops.OpOverloadPacket):
        if op == "call_function" and is_foreign(target):
            return []
        name = str(target) if op == "call_method" else str(getattr(target, "__name__", ""))
        packet = getattr(torch.ops.aten, name, None) if name else None
    # `__lt__` is a method of the table of operators itself
    if not isinstance(packet, torch._ops.OpOverloadPacket):
        return []
    return [getattr(packet, one) for one in packet._overload_names]
