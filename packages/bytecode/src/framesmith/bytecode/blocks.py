"""Basic blocks of native instructions, their edges, and which block dominates which.

An analysis: nothing is changed. A block ends at a jump, at an instruction that does not fall through,
before anything jumped to, and where another exception region begins or ends.
"""

from dataclasses import dataclass
from typing import final

from framesmith.bytecode import stack_depth
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.opcodes import NO_FALL_THROUGH


@final
@dataclass(frozen=True, slots=True)
class Block:
    """Instructions `start` (inclusive) to `end` (exclusive), by index; edges are block numbers.

    `falls` is the block reached by falling through, `jumps` the one jumped to, `handler` the one that exceptions lead to.
    """

    number: int
    start: int
    end: int
    falls: int | None
    jumps: int | None
    handler: int | None

    @property
    def successors(self) -> tuple[int, ...]:
        """The blocks that control may reach directly from here, each once."""
        found = (self.falls, self.jumps, self.handler)
        return tuple(dict.fromkeys(one for one in found if one is not None))


def blocks(parts: CodeParts) -> tuple[Block, ...]:
    """The blocks of `parts`, in the order of the instructions; unreachable ones too."""
    index_of = parts.instruction_indices()
    covering = stack_depth.handlers(parts, index_of)
    instructions = parts.instructions
    leaders = {0} | {index_of[region.target] for region in parts.regions}
    for index, instruction in enumerate(instructions):
        if instruction.target is not None:
            leaders.add(index_of[instruction.target])
        if instruction.target is not None or instruction.name in NO_FALL_THROUGH:
            leaders.add(index + 1)
        # A block has one handler.
        if index and covering[index] != covering[index - 1]:
            leaders.add(index)
    # What follows a jump may be the end of the code.
    starts = sorted(leader for leader in leaders if leader < len(instructions))
    number_at = {start: number for number, start in enumerate(starts)}
    found: list[Block] = []
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(instructions)
        last, region = instructions[end - 1], covering[start]
        goes_on = last.name not in NO_FALL_THROUGH and end < len(instructions)
        found.append(
            Block(
                number,
                start,
                end,
                number_at[end] if goes_on else None,
                None if last.target is None else number_at[index_of[last.target]],
                None if region is None else number_at[index_of[parts.regions[region].target]],
            )
        )
    return tuple(found)
