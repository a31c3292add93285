"""Rewrites `super()` without arguments to `super(__class__, self)`.

Without arguments it inspects the frame that calls it: it takes the cell `__class__`, and the first argument from the
first slot (`super_init_without_args`, Objects/typeobject.c). In a continuation that slot may hold another value.

    LOAD_GLOBAL super; CALL 0      ->  LOAD_GLOBAL super; LOAD_DEREF __class__; LOAD_FAST self; CALL 2
    LOAD_SUPER_ATTR name           ->  the same with the flag that says that it has its arguments (3.12+)
"""

from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.instruction import Instruction

_TWO_ARGUMENTS = 2


def make_arguments_explicit(parts: CodeParts, body: list[Instruction], first: str) -> list[Instruction]:
    """The body with the arguments of each such call written out; jumps to a call lead to where they are loaded."""
    # A cell of the function is a free variable of its continuation.
    load = "LOAD_DEREF" if first in parts.freevars else "LOAD_FAST"
    found: list[Instruction] = []
    before: Instruction | None = None
    for instruction in body:
        found.append(instruction)
        if instruction.name == "LOAD_SUPER_ATTR" and isinstance(instruction.argument, tuple):
            name, flags = instruction.argument
            instruction.argument = (name, flags | _TWO_ARGUMENTS)
        elif _is_super(before) and instruction.name in ("PRECALL", "CALL") and instruction.argument == 0:
            # The old instruction becomes the first of the new ones, because jumps lead to it.
            call = instruction.copy()
            call.argument = _TWO_ARGUMENTS
            instruction.name, instruction.argument, instruction.hint = "LOAD_DEREF", "__class__", -1
            found += [Instruction(load, first, position=call.position), call]
        elif _is_longer(before) and instruction.argument == 0:
            instruction.argument = _TWO_ARGUMENTS
        before = found[-1]
    return found


def _is_super(instruction: Instruction | None) -> bool:
    return (
        instruction is not None and instruction.name == "LOAD_GLOBAL" and instruction.argument == ("super", 1)
    )


def _is_longer(instruction: Instruction | None) -> bool:
    """Whether it is the PRECALL (3.11) of such a call, already rewritten: its CALL follows and needs the same count."""
    return (
        instruction is not None and instruction.name == "PRECALL" and instruction.argument == _TWO_ARGUMENTS
    )
