"""Rearranging the stack: copies, swaps and rotations of any depth."""

from framesmith.bytecode.emitter import Emitter
from framesmith.bytecode.errors import require_count


def pop(emitter: Emitter) -> None:
    """Drop the value on top of the stack."""
    emitter.emit("POP_TOP")


def copy(emitter: Emitter, n: int = 1) -> None:
    """Push the n-th slot from the top again (1 is the top)."""
    emitter.emit("COPY", n)


def swap(emitter: Emitter, n: int = 2) -> None:
    """Exchange the top with the n-th slot (2 is the one below)."""
    require_count("swap()", n, 1)
    if n > 1:
        emitter.emit("SWAP", n)


def sink(emitter: Emitter, n: int) -> None:
    """Move the top below the n-1 slots under it: `a b c TOP` becomes `TOP a b c` with n = 4."""
    require_count("sink()", n, 1)
    for depth in range(n, 1, -1):
        emitter.emit("SWAP", depth)


def lift(emitter: Emitter, n: int) -> None:
    """Move the n-th slot to the top: `LOW a b c` becomes `a b c LOW` with n = 4."""
    require_count("lift()", n, 1)
    for depth in range(2, n + 1):
        emitter.emit("SWAP", depth)


def reverse(emitter: Emitter, n: int) -> None:
    """Reverse the order of the n topmost slots."""
    require_count("reverse()", n)
    # SWAP reaches only from the top: fetch each slot of the lower half up, exchange, and put it back.
    for high in range(1, n // 2 + 1):
        low = n + 1 - high
        if high == 1:
            emitter.emit("SWAP", low)
        else:
            emitter.emit("SWAP", high)
            emitter.emit("SWAP", low)
            emitter.emit("SWAP", high)
