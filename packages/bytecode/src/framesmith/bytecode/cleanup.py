"""Passes over `CodeParts` that change how a function is written, never what it does.

Each edits the parts it is given. Analyses are elsewhere: `blocks`, `liveness`, `stack_depth`.
"""

from framesmith.bytecode import stack_depth
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.instruction import NOWHERE, ExceptionRegion, Instruction
from framesmith.bytecode.opcodes import NO_FALL_THROUGH


def reachable(parts: CodeParts) -> list[bool]:
    """For each instruction, whether control can reach it from the first one."""
    index_of = parts.index_of()
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
            if instruction.name in NO_FALL_THROUGH:
                break
            index += 1
    return found


def remove_unreachable(parts: CodeParts) -> None:
    """Before: `RETURN_VALUE; LOAD_CONST 1; POP_TOP`. After: `RETURN_VALUE`."""
    keep = reachable(parts)
    if not all(keep):
        _filter(parts, keep)


def remove_nops(parts: CodeParts) -> None:
    """Drop each NOP without a line, or with the line of a neighbour; jumps to it lead to the next instruction.

    A NOP that begins a region stays: it may have been put there for 3.13 (see `Emitter.region`).

    Before: `JUMP_FORWARD a; ...; a: NOP; LOAD_FAST x`. After: `JUMP_FORWARD a; ...; a: LOAD_FAST x`.
    """
    instructions = parts.instructions
    keep = [True] * len(instructions)
    moved: dict[Instruction, Instruction] = {}
    starts = {region.start for region in parts.regions}
    # Backwards, so that a jump to the first of several NOPs finds where the last one leads.
    for index in range(len(instructions) - 2, -1, -1):
        one, following = instructions[index], instructions[index + 1]
        line = one.position.line
        before = instructions[index - 1].position.line if index else None
        if (
            one.name == "NOP"
            and one not in starts
            and (line is None or line in (before, following.position.line))
        ):
            keep[index] = False
            moved[one] = moved.get(following, following)
    for instruction in instructions:
        if instruction.target in moved:
            instruction.target = moved[instruction.target]
    for region in parts.regions:
        region.target = moved.get(region.target, region.target)
    _filter(parts, keep)


def propagate_lines(parts: CodeParts) -> None:
    """Give an instruction without a position the one of its only predecessor.

    Before: `LOAD_FAST x @3; POP_TOP @?`. After: `POP_TOP @3`. Targets of jumps are left alone.
    """
    targets = {one.target for one in parts.instructions if one.target is not None}
    targets.update(region.target for region in parts.regions)
    previous = NOWHERE
    for instruction in parts.instructions:
        if instruction in targets:
            previous = instruction.position
        elif instruction.position.line is None:
            instruction.position = previous
        else:
            previous = instruction.position
        if instruction.name in NO_FALL_THROUGH:
            previous = NOWHERE


def _filter(parts: CodeParts, keep: list[bool]) -> None:
    """Keep the instructions marked in `keep`; each region shrinks to what is left of it, an empty one goes."""
    covering = stack_depth.handlers(parts, parts.index_of())
    pairs = [
        (instruction, region)
        for instruction, region, kept in zip(parts.instructions, covering, keep, strict=True)
        if kept
    ]
    regions: list[ExceptionRegion] = []
    current: int | None = None
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
