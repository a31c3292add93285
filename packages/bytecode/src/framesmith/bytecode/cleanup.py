"""Passes over `CodeParts` that change how a function is written, never what it does.

Each edits the parts it is given. What is reached is found here; other analyses are in `blocks`, `liveness` and `stack_depth`.
"""

from collections.abc import Collection

from framesmith.bytecode import stack_depth
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.instruction import ExceptionRegion
from framesmith.bytecode.opcodes import NO_FALL_THROUGH


def reachable(parts: CodeParts, ends: Collection[str] = NO_FALL_THROUGH) -> list[bool]:
    """For each instruction, whether control can reach it from the first one. `ends`: the names of those behind which it does not go on."""
    index_of = parts.instruction_indices()
    covering = stack_depth.handlers(parts, index_of)
    found = [False] * len(parts.instructions)
    todo = [0]
    while todo:
        index = todo.pop()
        while index < len(found) and not found[index]:
            found[index] = True
            instruction = parts.instructions[index]
            region = covering[index]
            if region is not None:
                todo.append(index_of[parts.regions[region].target])
            if instruction.target is not None:
                todo.append(index_of[instruction.target])
            if instruction.name in ends:
                break
            index += 1
    return found


def remove_unreachable(parts: CodeParts) -> None:
    """Before: `RETURN_VALUE; LOAD_CONST 1; POP_TOP`. After: `RETURN_VALUE`."""
    keep = reachable(parts)
    if not all(keep):
        _filter(parts, keep)


def _filter(parts: CodeParts, keep: list[bool]) -> None:
    """Keep the instructions marked in `keep`; each region shrinks to what is left of it, an empty one goes."""
    covering = stack_depth.handlers(parts, parts.instruction_indices())
    pairs = [
        (instruction, region)
        for instruction, region, kept in zip(parts.instructions, covering, keep, strict=True)
        if kept
    ]
    regions: list[ExceptionRegion] = []
    current: int | None = None
    # The last pair ends the region that is open by then.
    for instruction, number in [*pairs, (None, None)]:
        if number == current:
            continue
        if current is not None:
            regions[-1].end = instruction
        if number is not None and instruction is not None:
            old = parts.regions[number]
            regions.append(ExceptionRegion(instruction, None, old.target, old.depth, old.push_lasti))
        current = number
    parts.instructions = [instruction for instruction, _ in pairs]
    parts.regions = regions
