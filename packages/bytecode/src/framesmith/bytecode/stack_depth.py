"""How deep the stack is before each native instruction, and how deep it gets.

CPython checks neither; a code object whose `co_stacksize` is too small writes past its frame.
The effect of one instruction comes from `opcode.stack_effect`; three rows are corrected here, where
that function counts a compiler's convention rather than what the interpreter does. Where NULL lies on it: `nulls`.
Depths of operations: `meaning.stack_depths`.
"""

import opcode
from collections.abc import Sequence
from typing import Final

from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.errors import AssembleError
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.opcodes import KINDS, NO_FALL_THROUGH, NUMBERS, VERSION, ArgumentKind

_FIXED: Final = {
    "PRECALL": 0,  # counted as the whole call in 3.11; it moves nothing
    "LOAD_CONST": 1,  # its argument is any value, which stack_effect() takes for a number
    "RETURN_GENERATOR": 1,  # the generator is resumed with a value on its stack
}
_RETURN_CONST_SLOT: Final = int(VERSION >= (3, 13))
_FLAGGED: Final = frozenset(
    name for name, kind in KINDS.items() if kind in (ArgumentKind.NAME_FLAG1, ArgumentKind.NAME_FLAG2)
)
_COUNTED: Final = _FLAGGED | {name for name, kind in KINDS.items() if kind is ArgumentKind.NUMBER}
_HAS_ARGUMENT: Final = frozenset(name for name, kind in KINDS.items() if kind is not ArgumentKind.NONE)


def effect(instruction: Instruction, jump: bool) -> int:
    """By how much an instruction changes the depth; `jump`: when it jumps."""
    name = instruction.name
    fixed = _FIXED.get(name)
    if fixed is not None:
        return fixed
    argument = instruction.argument
    if name in _FLAGGED:
        if not isinstance(argument, tuple) or len(argument) != 2:
            raise AssembleError(f"{name} cannot take {argument!r}: a pair of name and flags belongs there")
        argument = argument[1]
    # An int beside any other instruction is a constant.
    number = argument if isinstance(argument, int) and name in _COUNTED else 0
    # 3.11 counts the arguments at PRECALL, which is a row of `_FIXED`.
    if name == "CALL":
        return -number - 1
    try:
        return opcode.stack_effect(NUMBERS[name], number if name in _HAS_ARGUMENT else None, jump=jump)
    except (ValueError, OverflowError) as error:
        raise AssembleError(f"{name} cannot take {argument!r}: {error}") from error


def depths(parts: CodeParts) -> list[int | None]:
    """Depth before each instruction; None for an unreachable one.

    Raises AssembleError when two paths disagree, the stack underflows, or control runs off the end.
    """
    instructions = parts.instructions
    index_of = parts.instruction_indices()
    found: list[int | None] = [None] * len(instructions)
    handler_at = handlers(parts, index_of)
    todo: list[tuple[int, int]] = [(0, 0)]
    while todo:
        index, depth = todo.pop()
        while True:
            if index >= len(instructions):
                raise AssembleError(f"{parts.qualname}: control runs off the end of the instructions")
            known = found[index]
            if known is not None:
                if known != depth:
                    raise AssembleError(_disagreement(parts, index, known, depth))
                break
            found[index] = depth
            instruction = instructions[index]
            handler = handler_at[index]
            if handler is not None:
                region = parts.regions[handler]
                todo.append((index_of[region.target], region.depth + region.push_lasti + 1))
            if instruction.target is not None:
                todo.append((index_of[instruction.target], depth + effect(instruction, True)))
            if instruction.name in NO_FALL_THROUGH:
                break
            depth += effect(instruction, False)
            if depth < 0:
                raise AssembleError(f"{parts.qualname}: {instruction.name} at {index} pops an empty stack")
            index += 1
    return found


def handlers(parts: CodeParts, index_of: dict[Instruction, int]) -> list[int | None]:
    """For each instruction the index of the region that covers it, or None."""
    covering: list[int | None] = [None] * len(parts.instructions)
    for number, region in enumerate(parts.regions):
        start = index_of[region.start]
        end = len(parts.instructions) if region.end is None else index_of[region.end]
        covering[start:end] = [number] * (end - start)
    return covering


def highest(parts: CodeParts, found: Sequence[int | None] | None = None) -> int:
    """The stack size that the instructions need: the greatest depth. `found`: `depths(parts)`, if it is known already.

    Raises what `depths` raises.
    """
    top = 0
    for index, depth in enumerate(depths(parts) if found is None else found):
        if depth is None:
            continue
        top = max(top, depth)
        instruction = parts.instructions[index]
        # what all others leave is the depth before the instruction where they lead
        if instruction.name in NO_FALL_THROUGH:
            # 3.13 gives RETURN_CONST, which pushes nothing, the slot of the LOAD_CONST it is made of.
            extra = _RETURN_CONST_SLOT if instruction.name == "RETURN_CONST" else 0
            top = max(top, depth + extra, depth + effect(instruction, False))
    return top


def _disagreement(parts: CodeParts, index: int, known: int, depth: int) -> str:
    instruction = parts.instructions[index]
    return (
        f"{parts.qualname}: stack depth before {instruction.name} at {index} "
        f"(line {instruction.position.line}) is {known} on one path and {depth} on another"
    )
