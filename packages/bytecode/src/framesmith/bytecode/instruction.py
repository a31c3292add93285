"""Native instructions with symbolic arguments, and the exception regions that cover them.

The three small classes that all other modules of this package use. How they are read from a
code object is in `disassemble`, how they are written in `assemble`; what an instruction means is in `meaning`.
"""

from dataclasses import dataclass
from typing import NamedTuple, final


@final
class Position(NamedTuple):
    """Source range of an instruction, as `code.co_positions()` gives it; None where unknown."""

    line: int | None = None
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None


NOWHERE = Position()


@final
@dataclass(eq=False, slots=True)
class Instruction:
    """One native instruction; compared by identity, because jumps and regions point at it.

    `argument` is symbolic: a variable name for locals, cells and names; the object itself for
    constants; `(name, flags)` for LOAD_GLOBAL, LOAD_ATTR and LOAD_SUPER_ATTR; `(symbol, flags)` for
    COMPARE_OP; a symbol such as "+=" for BINARY_OP; a pair of names for the paired local instructions;
    an intrinsic's name; otherwise the plain number. It is None where the instruction takes none, and
    for jumps, which use `target`.

    `hint` is the number the argument was read as. `assemble` prefers it while it still denotes the same thing, which keeps
    the order of names and constants. `width` is the least number of EXTENDED_ARG prefixes to write.
    """

    name: str
    argument: object = None
    target: "Instruction | None" = None
    position: Position = NOWHERE
    hint: int = -1
    width: int = 0

    def copy(self) -> "Instruction":
        """A new instruction with the same fields (and the same target)."""
        return Instruction(self.name, self.argument, self.target, self.position, self.hint, self.width)


@final
@dataclass(eq=False, slots=True)
class ExceptionRegion:
    """Instructions from `start` (inclusive) to `end` (exclusive, None is the end of the code) lead to `target`.

    On an exception the stack is cut to `depth`, then the offset of the raising instruction (if
    `push_lasti`) and the exception are pushed. Regions of one code object are disjoint, in order.
    """

    start: Instruction
    end: Instruction | None
    target: Instruction
    depth: int
    push_lasti: bool = False
