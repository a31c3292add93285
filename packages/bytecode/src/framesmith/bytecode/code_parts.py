"""`CodeParts`: a code object taken apart, free to be edited and put together again."""

from dataclasses import dataclass, field
from typing import final

from framesmith.bytecode.instruction import ExceptionRegion, Instruction


@final
@dataclass(eq=False, slots=True)
class CodeParts:
    """Everything a code object holds, with the instructions in symbolic form.

    `constants` and `names` are the pools as they were read: `assemble` keeps them in order and adds
    what the instructions need besides. `stacksize` is a minimum; `assemble` raises it where the instructions
    need more.
    """

    name: str
    qualname: str
    filename: str
    firstlineno: int = 1
    argcount: int = 0
    posonlyargcount: int = 0
    kwonlyargcount: int = 0
    flags: int = 0
    varnames: list[str] = field(default_factory=list)
    cellvars: list[str] = field(default_factory=list)
    freevars: list[str] = field(default_factory=list)
    constants: list[object] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    stacksize: int = 0
    instructions: list[Instruction] = field(default_factory=list)
    regions: list[ExceptionRegion] = field(default_factory=list)

    def instruction_indices(self) -> dict[Instruction, int]:
        """The index of each instruction in `instructions`."""
        return {instruction: index for index, instruction in enumerate(self.instructions)}

    def slot_names(self) -> list[str]:
        """Names of the frame's slots: locals, then cells that are not locals too, then free variables."""
        # An argument that is a cell has one slot, which MAKE_CELL turns from the one into the other.
        own = set(self.varnames)
        return [*self.varnames, *(name for name in self.cellvars if name not in own), *self.freevars]


def require_parts(call: str, value: object) -> None:
    """Raises TypeError, which names the call and says how to get them, for what is no CodeParts."""
    if not isinstance(value, CodeParts):
        raise TypeError(f"{call} got {value!r}, which is no CodeParts; pass what disassemble(code) gives")
