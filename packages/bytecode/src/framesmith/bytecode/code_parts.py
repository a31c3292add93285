"""`CodeParts`: a code object taken apart, free to be edited and put together again."""

import inspect
from dataclasses import dataclass, field
from typing import final

from framesmith.bytecode.errors import AssembleError, require_argument
from framesmith.bytecode.instruction import ExceptionRegion, Instruction


@final
class InstructionIndices(dict[Instruction, int]):
    """Instructions and their places; what jumps or regions lead to and is not there is an error that names it."""

    __slots__ = ("qualname",)
    qualname: str

    def __missing__(self, instruction: Instruction) -> int:
        name = getattr(instruction, "name", instruction)
        raise AssembleError(
            f"{self.qualname}: a jump or an exception region names {name}, which is not among its instructions"
        )


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

    def instruction_indices(self) -> "InstructionIndices":
        """The index of each instruction in `instructions`; AssembleError for one that is not there."""
        found = InstructionIndices((one, index) for index, one in enumerate(self.instructions))
        found.qualname = self.qualname
        return found

    def argument_slots(self) -> int:
        """How many of `varnames`, from the first on, are arguments, `*args` and `**kwargs` among them."""
        stars = bool(self.flags & inspect.CO_VARARGS) + bool(self.flags & inspect.CO_VARKEYWORDS)
        return self.argcount + self.kwonlyargcount + stars

    def slot_names(self) -> list[str]:
        """Names of the frame's slots: locals, then cells that are not locals too, then free variables."""
        # An argument that is a cell has one slot, which MAKE_CELL turns from the one into the other.
        own = set(self.varnames)
        return [*self.varnames, *(name for name in self.cellvars if name not in own), *self.freevars]


def require_parts(call: str, value: object) -> None:
    """Raises TypeError, which names the call and says how to get them, for what is no CodeParts."""
    require_argument(call, value, CodeParts, "no CodeParts", "pass what disassemble(code) gives")
