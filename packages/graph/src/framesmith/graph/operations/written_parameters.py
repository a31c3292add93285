"""Which parameters of an operation torch's schemas say it writes to."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import torch

from framesmith.graph.operations.purity import is_foreign


def listed_writes(
    op: str, target: object, args: Sequence[object], kwargs: Mapping[str, object]
) -> Iterator[torch.Tensor]:
    """The tensors that an operation is given in lists which it writes to: `torch._foreach_add_([p, q], 1)`."""
    for position, name in written_parameters(op, target):
        given = kwargs.get(name, args[position] if 0 <= position < len(args) else None)
        if isinstance(given, list | tuple):
            yield from (one for one in given if isinstance(one, torch.Tensor))


@lru_cache(maxsize=4096)
def written_parameters(op: str, target: object) -> tuple[tuple[int, str], ...]:
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
