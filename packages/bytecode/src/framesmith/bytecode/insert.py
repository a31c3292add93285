"""Inserting instructions into a code object that is being edited.

       LOAD_FAST x                   LOAD_FAST x
    L: LOAD_CONST 1      ->       L: NOP
                                     LOAD_CONST 1

Not here: writing instructions that suit the Python that runs (`emitting`), and numbers of anything (`assemble`).
"""

from collections.abc import Sequence
from typing import Final

from framesmith.bytecode.code_parts import CodeParts, require_parts
from framesmith.bytecode.errors import AssembleError, make_wrong_argument
from framesmith.bytecode.instruction import ExceptionRegion, Instruction
from framesmith.bytecode.liveness import accesses
from framesmith.bytecode.neutral import require_neutral
from framesmith.bytecode.opcodes import AFTER_LOOP, NO_FALL_THROUGH
from framesmith.bytecode.slots import own_references, split_wide_pairs
from framesmith.bytecode.stack_depth import handlers

_BEGIN_OF_CALL: Final = frozenset({"KW_NAMES", "PRECALL"})
"""They are one call together with the CALL that follows (Python 3.11 and 3.12)."""
_MAKES_CELLS: Final = frozenset({"COPY_FREE_VARS", "MAKE_CELL"})


def insert_before(
    parts: CodeParts,
    target: Instruction,
    instructions: Sequence[Instruction],
    *,
    check_stack: bool = True,
) -> None:
    """Put instructions in front of `target`, which belongs to `parts`.

    Whatever leads to `target` (jumps, handlers) leads to the first of them, and they are in the exception region that
    `target` is in. In front of a CALL means in front of the whole call. They have to leave the stack as they found it,
    unless `check_stack` is False; COPY may look at what lies there.
    Raises AssembleError where CPython knows what comes behind an instruction (FOR_ITER's exit, a yield, RETURN_GENERATOR),
    and says where to insert instead; and where cells are not made yet (MAKE_CELL, COPY_FREE_VARS): see `insert_at_start`.
    What is in front of RETURN_GENERATOR runs when the generator is called for, not at its first `next()`.
    """
    require_parts("insert_before()", parts)
    _require_instructions("insert_before()", instructions)
    if check_stack:
        require_neutral("insert_before()", parts, instructions)
    everything = parts.instructions
    index = _index_of(parts, target)
    while index and everything[index - 1].name in _BEGIN_OF_CALL:
        index -= 1
    target = everything[index]
    _require_possible(parts, index)
    if not instructions:
        return
    first = instructions[0]
    _insert_between(parts, index, instructions)
    for instruction in everything:
        if instruction.target is target:
            instruction.target = first
    for region in parts.regions:
        region.target = first if region.target is target else region.target


def insert_on_edge(
    parts: CodeParts,
    source: Instruction,
    instructions: Sequence[Instruction],
    *,
    jump: bool,
    check_stack: bool = True,
) -> None:
    """Put instructions on the way from `source` to the instruction that it jumps to (`jump`), or to the one that follows it.

    They run when control goes that way, and not when it comes to the same instruction from elsewhere. They are in the exception
    region of the instruction to which they lead; in front of an unconditional jump, in that of the jump. The exit of a loop is the
    jump of its FOR_ITER.
    Raises AssembleError where there is no such way, and where nothing can stand: see `insert_before`, also for `check_stack`.
    """
    require_parts("insert_on_edge()", parts)
    _require_instructions("insert_on_edge()", instructions)
    if check_stack:
        require_neutral("insert_on_edge()", parts, instructions)
    index, target = _index_of(parts, source), source.target
    ends = source.name in NO_FALL_THROUGH | _BEGIN_OF_CALL or index + 1 == len(parts.instructions)
    if (target is None) if jump else ends:
        way = "does not jump" if jump else "does not lead to the instruction that follows"
        raise AssembleError(f"{source.name} (instruction {index} of {parts.qualname}) {way}")
    if not instructions:
        return
    if target is not None and jump:
        if source.name in NO_FALL_THROUGH:
            insert_before(parts, source, instructions, check_stack=False)
            return
        if target.name != "END_FOR":
            _insert_apart(parts, source, target, instructions)
            return
        # CPython goes from FOR_ITER behind what ends the loop, where nothing else comes from.
        index = parts.instruction_indices()[target] + len(AFTER_LOOP) - 1
    index += 1
    # It belongs to the jump, and in 3.14 no exception region has it.
    if parts.instructions[index].name == "NOT_TAKEN":
        index += 1
    _require_possible(parts, index)
    _insert_between(parts, index, instructions)


def insert_at_start(
    parts: CodeParts, instructions: Sequence[Instruction], *, check_stack: bool = True
) -> None:
    """Put instructions at the start of the body, where they run once per call, in a generator at the first `next()`.

    The body begins behind what CPython needs first: COPY_FREE_VARS, MAKE_CELL, RETURN_GENERATOR, POP_TOP, RESUME. A loop
    that begins there does not jump back to them, as it would to what `insert_before` put in front of it.
    Raises AssembleError where there is no RESUME, and for what leaves something on the stack, unless `check_stack` is False.
    """
    require_parts("insert_at_start()", parts)
    _require_instructions("insert_at_start()", instructions)
    if check_stack:
        require_neutral("insert_at_start()", parts, instructions)
    start = body_start(parts)
    if start is None:
        raise AssembleError(f"{parts.qualname} has no RESUME, behind which its body would begin")
    _insert(parts, start, instructions)


def _index_of(parts: CodeParts, instruction: Instruction) -> int:
    index = parts.instruction_indices().get(instruction)
    if index is None:
        name = getattr(instruction, "name", repr(instruction))
        raise AssembleError(
            f"{name} is not an instruction of {parts.qualname}: pass one of parts.instructions, the object itself"
        )
    return index


def _require_possible(parts: CodeParts, index: int) -> None:
    """Raises AssembleError if nothing can stand in front of the instruction at `index`."""
    _refuse_before_cells(parts, index)
    if _is_known_place(parts.instructions, index):
        raise AssembleError(
            f"nothing can stand in front of {parts.instructions[index].name} (instruction {index} of {parts.qualname}): "
            f"CPython finds it by its place; {_remedy(parts.instructions, index)}"
        )


def _insert_between(parts: CodeParts, index: int, instructions: Sequence[Instruction]) -> None:
    """In front of `index`, in the exception region of what is there; jumps to it stay."""
    target = parts.instructions[index]
    _insert(parts, index, instructions)
    for region in parts.regions:
        region.start = instructions[0] if region.start is target else region.start
        region.end = instructions[0] if region.end is target else region.end


def _insert_apart(
    parts: CodeParts, source: Instruction, target: Instruction, instructions: Sequence[Instruction]
) -> None:
    """At the end of the code: `source` leads there, and from there a jump to `target`."""
    covering = handlers(parts, parts.instruction_indices())[parts.instruction_indices()[target]]
    first = instructions[0]
    for region in parts.regions:
        region.end = first if region.end is None else region.end
    back = Instruction("JUMP_FORWARD", None, target, source.position)
    _insert(parts, len(parts.instructions), [*instructions, back])
    source.target = first
    if covering is not None:
        around = parts.regions[covering]
        parts.regions.append(ExceptionRegion(first, None, around.target, around.depth, around.push_lasti))


def _insert(parts: CodeParts, index: int, instructions: Sequence[Instruction]) -> None:
    parts.instructions[index:index] = instructions
    split_wide_pairs(parts)
    killed = frozenset(name for one in instructions for name, _, kills in accesses(one) if kills)
    own_references(parts, killed)


def body_start(parts: CodeParts) -> int | None:
    """The index behind the RESUME at which calls begin, or behind that of the first `next()`; None without RESUME."""
    names = [one.name for one in parts.instructions]
    # A generator expression of 3.15 has a RESUME before RETURN_GENERATOR as well.
    makes = names.index("RETURN_GENERATOR") if "RETURN_GENERATOR" in names else 0
    return names.index("RESUME", makes) + 1 if "RESUME" in names[makes:] else None


def _require_instructions(call: str, values: object) -> None:
    """Raises TypeError for what is no sequence of instructions."""
    wrong = (
        [one for one in values if not isinstance(one, Instruction)]
        if isinstance(values, Sequence)
        else [values]
    )
    if wrong:
        raise make_wrong_argument(call, wrong[0], "no Instruction", "pass the `instructions` of an emitter")


def _refuse_before_cells(parts: CodeParts, index: int) -> None:
    """Raises AssembleError if a cell or free variable gets its slot at or behind `index`, before the body.

    Also for instructions that use none: whoever looks at the variables of the frame (a debugger) looks into all cells.
    """
    unmade: list[object] = []
    for one in parts.instructions[index : body_start(parts) or 0]:
        if one.name in _MAKES_CELLS:
            unmade += parts.freevars if one.name == "COPY_FREE_VARS" else [one.argument]
    if unmade:
        one = parts.instructions[index]
        raise AssembleError(
            f"nothing can stand in front of {one.name} (instruction {index} of {parts.qualname}): "
            f"{', '.join(map(str, unmade))} cannot be read before its cell is there; use insert_at_start"
        )


def _is_known_place(instructions: Sequence[Instruction], index: int) -> bool:
    """Whether CPython goes to this instruction by counting from another one, and not by a jump or the order."""
    if instructions[index].name == "END_FOR":
        return True
    before = instructions[index - 1].name if index else ""
    # In 3.12 FOR_ITER skips END_FOR alone (`FOR_ITER` in Python/bytecodes.c): what follows is an instruction like any other.
    if before == "END_FOR":
        return len(AFTER_LOOP) > 1
    # `_PyGen_yf` (Objects/genobject.c) reads the RESUME behind a yield to learn whether it is part of `yield from`.
    return before in ("YIELD_VALUE", "RETURN_GENERATOR")


def _remedy(instructions: Sequence[Instruction], index: int) -> str:
    """Where to insert in place of the known place at `index`."""
    if instructions[index - 1].name == "RETURN_GENERATOR":
        return "use insert_at_start"
    while index < len(instructions) and _is_known_place(instructions, index):
        index += 1
    if index == len(instructions):
        return "no instruction follows"
    return f"insert before the {instructions[index].name} that follows (instruction {index})"
