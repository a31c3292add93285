"""Whether instructions that are to be inserted leave the stack as they found it; what follows would take what they left.

Before: `..., a, b BINARY_OP +`. Inserted in front: `LOAD_CONST 1`, after which `b + 1` is added, and `verify` finds nothing wrong.
Refused is what is certain: jumps out of what is inserted may go where the stack fits. Whether a whole code fits together: `verify`.
"""

from collections.abc import Sequence
from typing import Final

from framesmith.bytecode import stack_depth
from framesmith.bytecode.arguments import expected_argument
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.errors import AssembleError, UnknownOpcode
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.meaning import steps_of
from framesmith.bytecode.opcodes import KINDS, NO_FALL_THROUGH
from framesmith.bytecode.operation_effects import slots_needed

_REMEDY: Final = "or pass check_stack=False"


def require_neutral(call: str, parts: CodeParts, instructions: Sequence[Instruction]) -> None:
    """Raises AssembleError if `instructions`, to be inserted into `parts`, take slots of before or end at another depth.

    To copy a slot of before takes none. An instruction that is wrong in itself is for `assemble` to name.
    """
    if any(one.name not in KINDS or expected_argument(one) is not None for one in instructions):
        return
    index_of = {one: index for index, one in enumerate(instructions)}
    known: dict[int, int] = {}
    todo = [(0, 0)]
    while todo:
        index, depth = todo.pop()
        while index not in known:
            known[index] = depth
            if index == len(instructions):
                _require_end(call, parts, depth)
                break
            instruction = instructions[index]
            _require_own(call, parts, instruction, index, depth)
            if instruction.target in index_of:
                todo.append((index_of[instruction.target], depth + stack_depth.effect(instruction, True)))
            if instruction.name in NO_FALL_THROUGH:
                break
            depth += stack_depth.effect(instruction, False)
            index += 1


def slots_taken(instruction: Instruction, parts: CodeParts, index: int, looks: bool) -> int:
    """How many slots an instruction needs; none for one that no table knows, which is for `verify` to say. Where it may look at what lies
    there before (`looks`), COPY needs none."""
    if looks and instruction.name == "COPY":
        return 0
    try:
        return slots_needed(steps_of(instruction, parts, index))
    except UnknownOpcode:
        return 0


def _require_own(call: str, parts: CodeParts, instruction: Instruction, index: int, depth: int) -> None:
    taken = slots_taken(instruction, parts, index, looks=True)
    if taken > depth:
        raise AssembleError(
            f"{call} got {instruction.name} (number {index} of what is inserted into {parts.qualname}), which takes {taken} slots "
            f"where {depth} were pushed: it would change what lies on the stack there; copy it first, {_REMEDY}"
        )


def _require_end(call: str, parts: CodeParts, depth: int) -> None:
    if depth:
        raise AssembleError(
            f"{call} got instructions that leave {depth} more on the stack of {parts.qualname} than they found, "
            f"which what follows would take; pop them, {_REMEDY}"
        )
