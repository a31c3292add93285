"""Inserting instructions in front of one of a code object that is being edited, so that jumps reach what was inserted.

       LOAD_FAST x                   LOAD_FAST x
    L: LOAD_CONST 1      ->       L: NOP
                                     LOAD_CONST 1

Not here: writing instructions that suit the Python that runs (`emitting`), and numbers of anything (`assemble`).
"""

from collections.abc import Sequence
from typing import Final

from framesmith.bytecode.code_parts import CodeParts, require_parts
from framesmith.bytecode.errors import AssembleError
from framesmith.bytecode.instruction import Instruction

_BEGIN_OF_CALL: Final = frozenset({"KW_NAMES", "PRECALL"})
"""They are one call together with the CALL that follows (Python 3.11 and 3.12)."""


def insert_before(parts: CodeParts, target: Instruction, instructions: Sequence[Instruction]) -> None:
    """Put instructions in front of `target`, which belongs to `parts`.

    Whatever leads to `target` (jumps, handlers) leads to the first of them, and they are in the exception region that
    `target` is in. In front of a CALL means in front of the whole call. What they pop they have to push again.
    Raises AssembleError where CPython knows what comes behind an instruction: behind FOR_ITER's exit and behind a yield.
    """
    require_parts("insert_before()", parts)
    index = parts.instruction_indices().get(target)
    if index is None:
        raise AssembleError(f"{target.name} is not an instruction of {parts.qualname}")
    everything = parts.instructions
    while index and everything[index - 1].name in _BEGIN_OF_CALL:
        index -= 1
    target = everything[index]
    if _is_known_place(everything, index):
        raise AssembleError(
            f"nothing can stand in front of {target.name} (instruction {index} of {parts.qualname}): "
            "CPython finds it by its place; insert before the instruction that follows"
        )
    if not instructions:
        return
    first = instructions[0]
    everything[index:index] = instructions
    for instruction in everything:
        if instruction.target is target:
            instruction.target = first
    for region in parts.regions:
        region.start = first if region.start is target else region.start
        region.end = first if region.end is target else region.end
        region.target = first if region.target is target else region.target


def _is_known_place(instructions: Sequence[Instruction], index: int) -> bool:
    """Whether CPython goes to this instruction by counting from another one, and not by a jump or the order."""
    if instructions[index].name == "END_FOR":
        return True
    before = instructions[index - 1].name if index else ""
    # `_PyGen_yf` (Objects/genobject.c) reads the RESUME behind a yield to learn whether it is part of `yield from`.
    return before in ("END_FOR", "YIELD_VALUE", "RETURN_GENERATOR")
