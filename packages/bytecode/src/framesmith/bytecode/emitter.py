"""`Emitter`: instructions written one after the other, with labels, exception regions and stack depth.

The mechanism only. What to write for a call, a loop or a `with` block, on each version of CPython, is in
`framesmith.bytecode.emitting`. The result is `CodeParts`, for `assemble`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Self, final

from framesmith.bytecode import stack_depth
from framesmith.bytecode.arguments import expected_argument
from framesmith.bytecode.code_parts import CodeParts, require_parts
from framesmith.bytecode.errors import AssembleError, make_unknown_instruction, require_argument
from framesmith.bytecode.instruction import NOWHERE, ExceptionRegion, Instruction, Position
from framesmith.bytecode.neutral import slots_taken
from framesmith.bytecode.opcodes import KINDS, NO_FALL_THROUGH, VERSION


@final
class Cover(NamedTuple):
    """Where exceptions of the instructions being written lead."""

    target: Instruction
    depth: int
    push_lasti: bool


@final
class Emitter:
    """Appends instructions to `parts`, each with the current `position`.

    A label is an instruction (a NOP) that may be jumped to before it is placed. `depth` is the stack depth
    before the next instruction, None when control cannot reach it. Regions nest; the innermost counts.
    `instructions` is what is being written: those of `parts`, or with `within` a list of its own.
    """

    def __init__(self, parts: CodeParts, depth: int = 0) -> None:
        require_parts("Emitter()", parts)
        self.parts = parts
        self.instructions = parts.instructions
        self.position: Position = NOWHERE
        self.depth: int | None = depth
        self._covers: list[Cover] = []
        self._label_depths: dict[Instruction, int] = {}
        self._covered: list[Cover | None] = []
        # Instructions that are there already have their regions.
        self._first = len(parts.instructions)
        self._apart = False

    @classmethod
    def within(cls, parts: CodeParts, depth: int = 0) -> Self:
        """An emitter of instructions that `insert_before`, `insert_at_start` or `insert_on_edge` puts into `parts`.

        It knows the variables of `parts`, and a local that is new is one of `parts` at once; `instructions` is what was written.
        `depth`: how many of the slots that lie on the stack where they will stand they may take or change; to copy one needs none. What
        does not leave the stack as it was is refused there, unless it is inserted with `check_stack=False`. In the body of a class or a module variables are names: `load_name`.
        """
        require_parts("Emitter.within()", parts)
        made = cls(parts, depth)
        made.instructions = []
        made._first, made._apart = 0, True
        return made

    def emit(self, name: str, argument: object = None, target: Instruction | None = None) -> Instruction:
        """Append a native instruction at the current position and return it; see `append`."""
        return self.append(Instruction(name, argument, target, self.position))

    def append(self, instruction: Instruction) -> Instruction:
        """Append an existing instruction (its position is kept) and update the depth.

        Raises AssembleError if this Python has no such instruction, if its argument can be none of it, if it takes more than the
        stack holds, or if it jumps to a label known at another depth. Nothing is appended then.
        """
        remedy = "pass one, or use emit() with its name"
        require_argument("append()", instruction, Instruction, "no Instruction", remedy)
        self._require_possible(instruction)
        depth = self.depth
        if depth is not None:
            if instruction.target is not None:
                self.expect_depth(instruction.target, depth + stack_depth.effect(instruction, True))
            ends = instruction.name in NO_FALL_THROUGH
            self.depth = None if ends else depth + stack_depth.effect(instruction, False)
        self.instructions.append(instruction)
        self._covered.append(self._covers[-1] if self._covers else None)
        return instruction

    def _require_possible(self, instruction: Instruction) -> None:
        """Raises AssembleError for an instruction that can stand nowhere, and for one that cannot stand here."""
        name, qualname = instruction.name, self.parts.qualname
        if name not in KINDS:
            raise make_unknown_instruction(name, qualname)
        if instruction.target is not None:
            remedy = "pass what label() gave, or an instruction of the code"
            require_argument(f"{name} of {qualname}", instruction.target, Instruction, "no label", remedy)
        expected = expected_argument(instruction)
        if expected is not None:
            raise AssembleError(
                f"{qualname}: {name} cannot take {instruction.argument!r}: {expected} belongs there"
            )
        # How much lies on the stack where instructions are inserted only `verify` knows; to look at it changes nothing.
        if self.depth is None:
            return
        taken = slots_taken(instruction, self.parts, len(self.instructions), looks=self._apart)
        if taken > self.depth:
            remedy = "; within(parts, depth) says how many slots may be taken of what was there" * self._apart
            raise AssembleError(f"{qualname}: {name} takes {taken} slots of a stack of {self.depth}{remedy}")

    def label(self) -> Instruction:
        """A new label: a target for jumps, to be passed to `place_label` once."""
        return Instruction("NOP", None, None, self.position)

    def expect_depth(self, label: Instruction, depth: int) -> None:
        """Note that control reaches `label` at this depth; AssembleError if it is known at another one."""
        known = self._label_depths.setdefault(label, depth)
        if known != depth:
            raise AssembleError(f"a label of {self.parts.qualname} is reached at depth {known} and {depth}")

    def place_label(self, label: Instruction) -> None:
        """Append `label` here, at the depth of the jumps to it; AssembleError if the depths differ."""
        require_argument("place_label()", label, Instruction, "no label", "pass what label() gave")
        known = self._label_depths.get(label)
        if self.depth is None:
            self.depth = known
        elif known is not None and known != self.depth:
            raise AssembleError(
                f"a label of {self.parts.qualname} is placed at depth {self.depth}, not {known}"
            )
        else:
            self._label_depths[label] = self.depth
        self.append(label)

    @contextmanager
    def region(
        self, handler: Instruction, *, depth: int | None = None, push_lasti: bool = False
    ) -> Iterator[None]:
        """Exceptions of what is written inside lead to `handler`, with the stack cut to `depth` (default: now).

        In 3.13 the region begins with a NOP, because CPython misses the handler of a call into Python code
        when that call is the first instruction of a region (see `resume._go_on`).
        Raises AssembleError with `within`: regions do not overlap, and the place may be in one already.
        """
        if self._apart:
            raise AssembleError(
                f"what is inserted into {self.parts.qualname} can have no exception region; insert a call of a function that has it"
            )
        if depth is None:
            depth = self.known_depth()
        # CPython pushes the exception, and the offset below it if it is asked for.
        self.expect_depth(handler, depth + push_lasti + 1)
        self._covers.append(Cover(handler, depth, push_lasti))
        if VERSION >= (3, 13):
            self.emit("NOP")
        try:
            yield
        finally:
            self._covers.pop()

    @contextmanager
    def outside_region(self) -> Iterator[None]:
        """Suspend the innermost region for what is written inside."""
        # The one that was entered last: what is written inside falls to the region around it.
        outer = self._covers.pop()
        try:
            yield
        finally:
            self._covers.append(outer)

    def known_depth(self) -> int:
        """The depth here; AssembleError if control cannot reach this point."""
        if self.depth is None:
            raise AssembleError(f"unreachable place in {self.parts.qualname}")
        return self.depth

    def finish(self) -> CodeParts:
        """Add the exception regions to `parts` and return it."""
        mine = self.instructions[self._first :]
        rest = _regions(mine, self._covered)
        self.parts.regions.extend(rest)
        return self.parts


def _regions(instructions: list[Instruction], covered: list[Cover | None]) -> list[ExceptionRegion]:
    """One region for each run of instructions with the same cover."""
    found: list[ExceptionRegion] = []
    current: Cover | None = None
    start = 0
    # The last None ends the run that is open by then.
    for index, cover in enumerate([*covered, None]):
        if cover is current:
            continue
        if current is not None:
            end = instructions[index] if index < len(instructions) else None
            region = ExceptionRegion(
                instructions[start], end, current.target, current.depth, current.push_lasti
            )
            found.append(region)
        current, start = cover, index
    return found
