"""Which slots of the frame lack something on some path: the forward walk over a code object that `cells` and `unbound` share.

They differ in what a slot may lack: a cell, a value. One bit for each slot; bits are only added, so that the walk ends.
"""

from collections.abc import Callable

from framesmith.bytecode import stack_depth
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.opcodes import NO_FALL_THROUGH


def missing_before(parts: CodeParts, at_start: int, after: Callable[[int, int], int]) -> list[int]:
    """For each instruction the slots that lack it on some path to it; none where control never comes.

    `after(index, missing)`: what is missing behind the instruction with this index.
    """
    index_of = parts.instruction_indices()
    covering = stack_depth.handlers(parts, index_of)
    found: list[int | None] = [None] * len(parts.instructions)
    todo: list[tuple[int, int]] = [(0, at_start)]
    while todo:
        index, missing = todo.pop()
        while index < len(found):
            known = found[index]
            if known is not None:
                missing |= known
                if missing == known:
                    break
            found[index] = missing
            instruction, region = parts.instructions[index], covering[index]
            if region is not None:
                todo.append((index_of[parts.regions[region].target], missing))
            missing = after(index, missing)
            if instruction.target is not None:
                todo.append((index_of[instruction.target], missing))
            if instruction.name in NO_FALL_THROUGH:
                break
            index += 1
    return [one or 0 for one in found]
