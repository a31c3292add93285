"""`verify`: what is wrong with a code object, generated or compiled by CPython.

CPython trusts its code objects: a wrong depth or a wrong index is a crash, not an exception. Each check
returns problems with the instructions around them; an empty list means that none was found. What cannot be known
without running the code (types of values other than constants, NULLs in odd slots that no rule below covers) is not checked.
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Final, final

from framesmith.bytecode import exception_table, stack_depth
from framesmith.bytecode.assemble import argument_numbers
from framesmith.bytecode.borrows import borrow_problems
from framesmith.bytecode.cells import cell_problems
from framesmith.bytecode.cleanup import reachable
from framesmith.bytecode.code_parts import CodeParts, require_parts
from framesmith.bytecode.disassemble import disassemble
from framesmith.bytecode.errors import AssembleError, BytecodeError, UnknownOpcode, require_code
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.meaning import steps_of
from framesmith.bytecode.nulls import null_problems
from framesmith.bytecode.opcodes import AFTER_LOOP, KINDS, NO_FALL_THROUGH, VERSION, ArgumentKind
from framesmith.bytecode.operation_effects import slots_needed
from framesmith.bytecode.trusted_operands import trusted_problems
from framesmith.bytecode.unbound import unbound_problems
from framesmith.bytecode.well_formed import Finding, find_malformed

_CALLABLE_BELOW: Final = {"DICT_MERGE": 2 if VERSION < (3, 13) else 3 if VERSION < (3, 15) else 0}
"""How far below its operands an instruction looks for the callable that its error message names."""
_GENERATOR_FLAGS: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_AROUND: Final = 3
_NEVER_RAISES: Final = frozenset({"LOAD_CONST", "LOAD_COMMON_CONSTANT", "RETURN_VALUE"})
"""The end of a generator expression in 3.15 lies in a region whose depth counts the iterator, which is gone by then."""


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: a stable `check` name, what it is, and the instructions around it."""

    check: str
    message: str
    index: int | None = None
    surroundings: str = ""

    def __str__(self) -> str:
        return f"{self.check}: {self.message}" + (f"\n{self.surroundings}" if self.surroundings else "")


def verify(code: CodeType) -> list[Problem]:
    """Every problem found in `code` (nested code objects are not entered)."""
    require_code("verify()", code)
    try:
        parts = disassemble(code)
    except BytecodeError as error:
        return [Problem("readable", f"{code.co_qualname}: {error}")]
    problems, depths = _verify_parts(parts)
    problems.extend(_table(code))
    if depths is not None and not problems:
        problems.extend(_stack_size(code, parts, depths))
    return problems


def verify_parts(parts: CodeParts) -> list[Problem]:
    """The checks that need no code object: depths, flow, regions, names, signature, cells, NULLs and borrowed references."""
    require_parts("verify_parts()", parts)
    return _verify_parts(parts)[0]


def _verify_parts(parts: CodeParts) -> tuple[list[Problem], list[int | None] | None]:
    """The problems, and the depth before each instruction if it is the same on all paths."""
    if not parts.instructions:
        return [Problem("flow", f"{parts.qualname} has no instructions")], None
    problems = [
        _show_surroundings(parts, check, message, index) for check, message, index in find_malformed(parts)
    ]
    if problems:
        return problems, None
    problems.extend(
        _show_surroundings(parts, check, message, index) for check, message, index in _names(parts)
    )
    if not problems:
        try:
            numbers = argument_numbers(parts)
        except AssembleError as error:
            problems.append(Problem("argument", str(error)))
    # The effect of an instruction depends on its argument.
    if problems:
        return problems, None
    problems.extend(Problem("signature", message) for message in _signature(parts))
    problems.extend(
        _show_surroundings(parts, check, message, index) for check, message, index in _flow(parts)
    )
    try:
        depths = stack_depth.depths(parts)
    except AssembleError as error:
        return [*problems, Problem("depth", str(error))], None
    problems.extend(_regions(parts, depths))
    if not problems:
        problems.extend(
            _show_surroundings(parts, "depth", message, index) for message, index in _operands(parts, depths)
        )
    if not problems:
        problems.extend(
            _show_surroundings(parts, "argument", message, index)
            for message, index in trusted_problems(parts, depths)
        )
    if not problems:
        problems.extend(
            _show_surroundings(parts, "cell", message, index)
            for message, index in cell_problems(parts, numbers)
        )
    if not problems:
        problems.extend(
            _show_surroundings(parts, "unbound", message, index) for message, index in unbound_problems(parts)
        )
    # NULLs need sound depths: slots are found by their distance from the top.
    if not problems:
        problems.extend(
            _show_surroundings(parts, "null", message, index) for message, index in null_problems(parts)
        )
        problems.extend(
            _show_surroundings(parts, "borrow", message, index) for message, index in borrow_problems(parts)
        )
    return problems, depths


def _show_surroundings(parts: CodeParts, check: str, message: str, index: int) -> Problem:
    lines = []
    for number in range(max(0, index - _AROUND), min(len(parts.instructions), index + _AROUND + 1)):
        one: object = parts.instructions[number]
        if not isinstance(one, Instruction):
            lines.append(f"    {number:4} {one!r}")
            continue
        mark = "-->" if number == index else "   "
        shown = "" if one.argument is None else f" {one.argument!r}"
        lines.append(f"{mark} {number:4} {one.name}{shown}")
    return Problem(check, f"{parts.qualname}: {message}", index, "\n".join(lines))


def _names(parts: CodeParts) -> Iterator[Finding]:
    slots = parts.slot_names()
    cells = [*parts.cellvars, *parts.freevars]
    for index, one in enumerate(parts.instructions):
        kind, argument = KINDS[one.name], one.argument
        if kind is ArgumentKind.LOCAL and argument not in slots:
            yield "name", f"{one.name} names {argument!r}, which is no local", index
        elif kind is ArgumentKind.CELL and argument not in cells:
            yield "name", f"{one.name} names {argument!r}, which is neither cell nor free variable", index
        elif kind is ArgumentKind.LOCAL_PAIR:
            pair = argument if isinstance(argument, tuple) else ()
            for name in pair:
                if name not in slots:
                    yield "name", f"{one.name} names {name!r}, which is no local", index
        elif kind is ArgumentKind.NUMBER and not isinstance(argument, int):
            yield "argument", f"{one.name} has {argument!r} where a number belongs", index
        elif one.name == "COPY_FREE_VARS" and argument != len(parts.freevars):
            yield (
                "name",
                f"COPY_FREE_VARS {argument} in a code of {len(parts.freevars)} free variables",
                index,
            )


def _signature(parts: CodeParts) -> Iterator[str]:
    taken = parts.argument_slots()
    if taken > len(parts.varnames):
        yield f"{parts.qualname} takes {taken} arguments but has {len(parts.varnames)} locals"
    if parts.posonlyargcount > parts.argcount:
        yield f"{parts.qualname} has more positional-only arguments than positional ones"


def _flow(parts: CodeParts) -> Iterator[Finding]:
    reached = reachable(parts)
    names = [one.name for one in parts.instructions]
    if reached[-1] and names[-1] not in NO_FALL_THROUGH:
        yield "flow", "control runs off the end", len(names) - 1
    generator = bool(parts.flags & _GENERATOR_FLAGS)
    makes = "RETURN_GENERATOR" in (name for name, here in zip(names, reached, strict=True) if here)
    if generator != makes:
        yield "flow", f"generator flag is {generator}, RETURN_GENERATOR is there: {makes}", 0
    yield from _early_yields(parts)
    if "RESUME" not in names:
        yield "flow", "no RESUME, so that tracing and signals never see the frame", 0
    for index, one in enumerate(parts.instructions):
        if one.name == "FOR_ITER" and "END_FOR" in KINDS and one.target is not None:
            yield from _loop_end(parts, index, one.target)
    copies = "COPY_FREE_VARS" in names
    if parts.freevars and not copies:
        yield "flow", "free variables are never copied into the frame", 0


def _early_yields(parts: CodeParts) -> Iterator[Finding]:
    """A yield leaves the frame of a generator; in any other, CPython goes on in memory that is none of its own."""
    if not any(one.name == "YIELD_VALUE" for one in parts.instructions):
        return
    early = reachable(parts, NO_FALL_THROUGH | {"RETURN_GENERATOR"})
    for index, one in enumerate(parts.instructions):
        if one.name == "YIELD_VALUE" and early[index]:
            remedy = "set CO_GENERATOR in the flags, and write the start with `calls.begin_function`"
            yield "flow", f"{one.name} runs where no RETURN_GENERATOR has made a generator: {remedy}", index


def _loop_end(parts: CodeParts, index: int, end: Instruction) -> Iterator[Finding]:
    """CPython skips what FOR_ITER leads to, whatever it is: END_FOR, and from 3.13 on what follows drops the iterator."""
    after = parts.instructions[parts.instruction_indices()[end] :][: len(AFTER_LOOP)]
    if tuple(one.name for one in after) != AFTER_LOOP:
        yield "flow", f"FOR_ITER leads to {end.name}, not to {', '.join(AFTER_LOOP)}", index


def _operands(parts: CodeParts, depths: list[int | None]) -> Iterator[tuple[str, int]]:
    """Instructions that take more than the stack holds, whatever they give back."""
    for index, (instruction, depth) in enumerate(zip(parts.instructions, depths, strict=True)):
        if depth is not None:
            try:
                taken = slots_needed(steps_of(instruction, parts, index))
            except UnknownOpcode as error:
                yield str(error), index
                continue
            taken += _CALLABLE_BELOW.get(instruction.name, 0)
            if taken > depth:
                yield f"{instruction.name} takes {taken} slots of a stack of {depth}", index


def _regions(parts: CodeParts, found: list[int | None]) -> list[Problem]:
    problems: list[Problem] = []
    index_of = parts.instruction_indices()
    for region in parts.regions:
        start = index_of[region.start]
        end = len(found) if region.end is None else index_of[region.end]
        for index in range(start, end):
            depth = found[index]
            if (
                depth is not None
                and depth < region.depth
                and parts.instructions[index].name not in _NEVER_RAISES
            ):
                message = f"depth {depth} here, but the handler cuts the stack to {region.depth}"
                problems.append(_show_surroundings(parts, "region", message, index))
                break
    return problems


def _stack_size(code: CodeType, parts: CodeParts, depths: list[int | None]) -> Iterator[Problem]:
    needed = stack_depth.highest(parts, depths)
    if needed > code.co_stacksize:
        yield Problem(
            "stacksize", f"{code.co_qualname} needs {needed} slots, co_stacksize is {code.co_stacksize}"
        )


def _table(code: CodeType) -> Iterator[Problem]:
    rows = list(exception_table.decode(code.co_exceptiontable))
    end = 0
    for row in rows:
        if row.start < end:
            yield Problem(
                "region", f"{code.co_qualname}: exception table rows overlap or are out of order: {row}"
            )
        end = row.end
    units = len(code.co_code) // 2
    covered = sum(1 for _ in code.co_positions())
    if code.co_linetable and covered != units:
        yield Problem("lines", f"{code.co_qualname}: line table covers {covered} of {units} code units")
