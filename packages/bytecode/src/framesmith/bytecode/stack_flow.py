"""What is on the stack before each native instruction: the walk over the paths of a code object that `nulls` and `borrows` share.

They differ in what they note of a slot. A state is one mark for each slot, the lowest first. Depths have to be sound: see `stack_depth`.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from framesmith.bytecode import stack_depth
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.opcodes import NO_FALL_THROUGH

Mark = TypeVar("Mark")


def states(
    parts: CodeParts,
    pushed: Mark,
    join: Callable[[Mark, Mark], Mark],
    after: Callable[[int, Sequence[Mark], bool], Sequence[Mark]],
) -> list[tuple[Mark, ...] | None]:
    """The state before each instruction, None where none leads.

    `pushed`: the mark of an exception that is handled. `join` gives the mark of a slot on which two paths differ; it may only lose
    what is known, so that this ends. `after(index, state, jump)`: the state that an instruction leaves, `jump` when it jumps.
    """
    index_of = parts.instruction_indices()
    covering = stack_depth.handlers(parts, index_of)
    found: list[tuple[Mark, ...] | None] = [None] * len(parts.instructions)
    todo: list[tuple[int, tuple[Mark, ...]]] = [(0, ())]
    while todo:
        index, state = todo.pop()
        while index < len(found):
            known = found[index]
            if known is not None:
                state = tuple(join(one, other) for one, other in zip(known, state, strict=True))
                if state == known:
                    break
            found[index] = state
            instruction, region_number = parts.instructions[index], covering[index]
            region = None if region_number is None else parts.regions[region_number]
            # less deep where nothing can raise, see `verify`
            if region is not None and len(state) >= region.depth:
                handled = (*state[: region.depth], *([pushed] * (1 + region.push_lasti)))
                todo.append((index_of[region.target], handled))
            if instruction.target is not None:
                todo.append((index_of[instruction.target], tuple(after(index, state, True))))
            if instruction.name in NO_FALL_THROUGH:
                break
            state = tuple(after(index, state, False))
            index += 1
    return found
