"""Jumps, unconditional and by what is on top of the stack, further on or back.

From 3.12 on conditional jumps lead further on alone. Back, as to the start of a loop, it is

    POP_JUMP_IF_FALSE next; JUMP_BACKWARD label; next: NOP
"""

from typing import Final

from framesmith.bytecode.emitter import Emitter
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.opcodes import NUMBERS, VERSION, backward_name

_PREFIX: Final = "POP_JUMP_FORWARD_IF_" if VERSION < (3, 12) else "POP_JUMP_IF_"
# From 3.13 on a conditional jump takes a bool and nothing else.
_NEEDS_BOOL: Final = "TO_BOOL" in NUMBERS


def jump(emitter: Emitter, label: Instruction) -> None:
    """Go to `label`, further on or back: `assemble` gives the jump the name for its direction."""
    emitter.emit("JUMP_FORWARD", None, label)


def jump_if(emitter: Emitter, wanted: bool, label: Instruction) -> None:
    """Pop a value and go to `label`, further on or back, if its truth is `wanted`."""
    if _NEEDS_BOOL:
        emitter.emit("TO_BOOL")
    _conditional(emitter, "TRUE" if wanted else "FALSE", "FALSE" if wanted else "TRUE", label)


def jump_if_none(emitter: Emitter, wanted: bool, label: Instruction) -> None:
    """Pop a value and go to `label`, further on or back, if it is None (`wanted`), or if it is not (not `wanted`)."""
    _conditional(emitter, "NONE" if wanted else "NOT_NONE", "NOT_NONE" if wanted else "NONE", label)


def _conditional(emitter: Emitter, condition: str, opposite: str, label: Instruction) -> None:
    # What is placed lies behind. Of what stands in the code that is inserted into, only `assemble` knows where.
    placed = label in emitter.instructions or label in emitter.parts.instructions
    if not placed or backward_name(f"{_PREFIX}{condition}") is not None:
        emitter.emit(f"{_PREFIX}{condition}", None, label)
        return
    following = emitter.label()
    emitter.emit(f"{_PREFIX}{opposite}", None, following)
    jump(emitter, label)
    emitter.place_label(following)
