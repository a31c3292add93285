"""`disassemble`: a code object to `CodeParts`, losing nothing.

Inline caches and EXTENDED_ARG prefixes are hidden, jumps and exception regions point at
instructions. Specialized and instrumented instructions are never seen: `co_code` is without them. What an instruction
does is in `meaning`.
"""

import opcode
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Final

from framesmith.bytecode import exception_table
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.errors import DisassembleError, UnknownOpcode, require_code
from framesmith.bytecode.instruction import NOWHERE, ExceptionRegion, Instruction, Position
from framesmith.bytecode.opcodes import (
    BINARY_SYMBOLS,
    CACHES,
    COMMON_CONSTANTS,
    COMPARE_SHIFT,
    COMPARE_SYMBOLS,
    EXTENDED_ARG,
    INTRINSICS1,
    INTRINSICS2,
    KINDS,
    NAMES,
    SPECIAL_METHODS,
    ArgumentKind,
    is_backward,
)

_Decoder = Callable[[int], object]
_BACKWARD: Final = frozenset(number for number, name in NAMES.items() if is_backward(name))
_JUMPS: Final = frozenset(number for number, name in NAMES.items() if KINDS[name] is ArgumentKind.JUMP)
_ORIGINS: Final = frozenset(number for number, name in NAMES.items() if KINDS[name] is ArgumentKind.ORIGIN)
_CACHES: Final = {number: CACHES[name] for number, name in NAMES.items()}
_KINDS: Final = {number: KINDS[name] for number, name in NAMES.items()}
_COMPARE_MASK: Final = (1 << COMPARE_SHIFT) - 1


def disassemble(code: CodeType) -> CodeParts:
    """Take `code` apart; `assemble` of the result gives an equal code object. Raises TypeError for what is no code object."""
    require_code("disassemble()", code)
    parts = CodeParts(
        name=code.co_name,
        qualname=code.co_qualname,
        filename=code.co_filename,
        firstlineno=code.co_firstlineno,
        argcount=code.co_argcount,
        posonlyargcount=code.co_posonlyargcount,
        kwonlyargcount=code.co_kwonlyargcount,
        flags=code.co_flags,
        varnames=list(code.co_varnames),
        cellvars=list(code.co_cellvars),
        freevars=list(code.co_freevars),
        constants=list(code.co_consts),
        names=list(code.co_names),
        stacksize=code.co_stacksize,
    )
    try:
        index_at = _append_instructions(code, parts)
    except IndexError as error:
        raise DisassembleError(f"{code} names a constant, name or variable that it does not have") from error
    instructions = parts.instructions
    end = len(code.co_code) // 2
    try:
        for row in exception_table.decode(code.co_exceptiontable):
            # No instruction begins at the end of the code.
            after = None if row.end == end else instructions[index_at[row.end]]
            parts.regions.append(
                ExceptionRegion(
                    instructions[index_at[row.start]],
                    after,
                    instructions[index_at[row.target]],
                    row.depth,
                    row.push_lasti,
                )
            )
    except (KeyError, ValueError) as error:
        raise DisassembleError(
            f"exception table of {code} is cut off, or leads inside an instruction: {error}"
        ) from error
    return parts


def _append_instructions(code: CodeType, parts: CodeParts) -> dict[int, int]:
    """Append the instructions of `code` to `parts`; returns code unit -> index of the instruction that starts there."""
    raw = code.co_code
    positions = _positions(code, len(raw) // 2)
    decoders = _decoders(parts)
    instructions = parts.instructions
    index_at: dict[int, int] = {}
    jumps: list[tuple[Instruction, int]] = []
    origins: list[tuple[Instruction, int]] = []
    unit, units = 0, len(raw) // 2
    while unit < units:
        start = unit
        number, value = raw[unit * 2], raw[unit * 2 + 1]
        prefixes = 0
        while number == EXTENDED_ARG:
            unit += 1
            prefixes += 1
            number, value = raw[unit * 2], value << 8 | raw[unit * 2 + 1]
        name = NAMES.get(number)
        if name is None:
            raise UnknownOpcode(opcode.opname[number], f"offset {unit * 2}", repr(code))
        kind = _KINDS[number]
        decoder = decoders.get(kind)
        # Without a decoder: jumps and origins, whose targets are found below, and instructions without an argument.
        argument = decoder(value) if decoder is not None else (value or None)
        instruction = Instruction(name, argument, None, positions[unit], value, 0)
        if prefixes:
            # A backward jump counts its own prefixes: 256 with one may be 255 without.
            needed = value - prefixes if number in _BACKWARD else value
            if not needed >> 8 * prefixes:
                instruction.width = prefixes
        unit += 1 + _CACHES[number]
        if number in _JUMPS:
            instruction.argument = None
            jumps.append((instruction, unit - value if number in _BACKWARD else unit + value))
        elif number in _ORIGINS:
            origins.append((instruction, unit - value))
        index_at[start] = len(instructions)
        instructions.append(instruction)
    # Only now are the instructions known to which jumps lead forwards.
    for instruction, target in jumps:
        where = index_at.get(target)
        if where is None:
            raise DisassembleError(
                f"{instruction.name} of {code} leads to {target * 2}, inside an instruction"
            )
        instruction.target = instructions[where]
    for instruction, origin in origins:
        where = index_at.get(origin)
        instruction.argument = None if where is None else instructions[where]
    return index_at


def _positions(code: CodeType, units: int) -> Sequence[Position]:
    known: dict[tuple[int | None, int | None, int | None, int | None], Position] = {}
    found: list[Position] = []
    for entry in code.co_positions():
        position = known.get(entry)
        if position is None:
            position = known[entry] = Position(*entry)
        found.append(position)
    found.extend([NOWHERE] * (units - len(found)))
    return found


def _decoders(parts: CodeParts) -> dict[ArgumentKind, _Decoder]:
    names, slots = parts.names, parts.slot_names()
    return {
        ArgumentKind.NUMBER: lambda value: value,
        ArgumentKind.CONSTANT: parts.constants.__getitem__,
        ArgumentKind.NAME: names.__getitem__,
        ArgumentKind.NAME_FLAG1: lambda value: (names[value >> 1], value & 1),
        ArgumentKind.NAME_FLAG2: lambda value: (names[value >> 2], value & 3),
        ArgumentKind.LOCAL: slots.__getitem__,
        ArgumentKind.LOCAL_PAIR: lambda value: (slots[value >> 4], slots[value & 15]),
        ArgumentKind.CELL: slots.__getitem__,
        ArgumentKind.COMPARE: lambda value: (COMPARE_SYMBOLS[value >> COMPARE_SHIFT], value & _COMPARE_MASK),
        ArgumentKind.BINARY: BINARY_SYMBOLS.__getitem__,
        ArgumentKind.INTRINSIC1: INTRINSICS1.__getitem__,
        ArgumentKind.INTRINSIC2: INTRINSICS2.__getitem__,
        ArgumentKind.COMMON: COMMON_CONSTANTS.__getitem__,
        ArgumentKind.SPECIAL: SPECIAL_METHODS.__getitem__,
    }
