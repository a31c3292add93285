"""Jumps, unconditional and by what is on top of the stack."""

from typing import Final

from framesmith.bytecode.emitter import Emitter
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.opcodes import NUMBERS, VERSION

_PREFIX: Final = "POP_JUMP_FORWARD_IF_" if VERSION < (3, 12) else "POP_JUMP_IF_"
# From 3.13 on a conditional jump takes a bool and nothing else.
_NEEDS_BOOL: Final = "TO_BOOL" in NUMBERS


def jump(emitter: Emitter, label: Instruction) -> None:
    """Go to `label`."""
    emitter.emit("JUMP_FORWARD", None, label)


def jump_if(emitter: Emitter, wanted: bool, label: Instruction) -> None:
    """Pop a value and go to `label` (further on) if its truth is `wanted`."""
    if _NEEDS_BOOL:
        emitter.emit("TO_BOOL")
    emitter.emit(f"{_PREFIX}{'TRUE' if wanted else 'FALSE'}", None, label)


def jump_if_none(emitter: Emitter, wanted: bool, label: Instruction) -> None:
    """Pop a value and go to `label` (further on) if it is None (`wanted`), or if it is not (not `wanted`)."""
    emitter.emit(f"{_PREFIX}{'NONE' if wanted else 'NOT_NONE'}", None, label)
