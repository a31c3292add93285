"""Live fast locals before each operation: the classic backward liveness analysis, over uses and kills.

A use reads a local, a kill ends its value: live before = (live after - kill) | use.
"""

from collections.abc import Sequence
from typing import Final

from framesmith.bytecode.operation import NO_FALL_THROUGH, Handler, Kind, Operation

# Deleting and saving count as uses: both depend on whether the variable is bound.
_USES: Final = frozenset({Kind.LOAD_LOCAL, Kind.DELETE_LOCAL, Kind.LOAD_LOCAL_AND_CLEAR, Kind.MAKE_CELL})
_KILLS: Final = frozenset({Kind.STORE_LOCAL, Kind.DELETE_LOCAL, Kind.LOAD_LOCAL_AND_CLEAR, Kind.MAKE_CELL})


def live_before(operations: Sequence[Operation], handlers: Sequence[Handler | None]) -> list[frozenset[str]]:
    """The names that are live before each operation.

    What is live in the handler counts as live before the operation, which may raise before it has any effect.
    """
    # Sets of names as ints, a bit per name, which keeps the iteration to the fixed point cheap.
    bits: dict[str, int] = {}
    uses, keeps = _masks(operations, bits)
    count = len(operations)
    live = [0] * (count + 1)
    changed = True
    while changed:
        changed = False
        for index in range(count - 1, -1, -1):
            operation = operations[index]
            after = 0 if operation.kind in NO_FALL_THROUGH else live[index + 1]
            if operation.target is not None:
                after |= live[operation.target]
            now = after & keeps[index] | uses[index]
            handler = handlers[index]
            if handler is not None:
                now |= live[handler.target]
            if now != live[index]:
                live[index] = now
                changed = True
    names: dict[int, frozenset[str]] = {}
    for mask in set(live):
        names[mask] = frozenset(name for name, bit in bits.items() if mask & bit)
    return [names[mask] for mask in live]


def _masks(operations: Sequence[Operation], bits: dict[str, int]) -> tuple[list[int], list[int]]:
    uses: list[int] = []
    keeps: list[int] = []
    for operation in operations:
        kind, name = operation.kind, operation.argument
        use = keep = 0
        if kind in _USES or kind in _KILLS:
            assert isinstance(name, str)
            bit = bits.setdefault(name, 1 << len(bits))
            use = bit if kind in _USES else 0
            keep = bit if kind in _KILLS else 0
        uses.append(use)
        keeps.append(~keep)
    return uses, keeps
