"""`assemble`: `CodeParts` to a code object.

Jumps get the direction and the width they need (JUMP_FORWARD to an earlier instruction becomes JUMP_BACKWARD, and the other way round), names and constants their numbers, the frame the
stack size it needs. What cannot be encoded, or has no single stack depth, is an AssembleError; the other checks are those of `verify`.
"""

from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Final

from framesmith.bytecode import exception_table, line_table, stack_depth
from framesmith.bytecode.code_parts import CodeParts, require_parts
from framesmith.bytecode.errors import AssembleError, describe_no_way_back, make_unknown_instruction
from framesmith.bytecode.exception_table import TableRow
from framesmith.bytecode.instruction import Instruction
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
    NUMBERS,
    SPECIAL_METHODS,
    ArgumentKind,
    backward_name,
    forward_name,
    is_backward,
)
from framesmith.bytecode.pools import ConstantPool, NamePool
from framesmith.bytecode.well_formed import require_well_formed

_Encoder = Callable[[Instruction], int]
_LARGEST: Final = 2**31 - 1


def assemble(parts: CodeParts) -> CodeType:
    """The code object of `parts`; `parts` itself is not changed, except for the direction of jumps.

    Raises AssembleError for what cannot be encoded, TypeError for what is no CodeParts.
    """
    require_parts("assemble()", parts)
    require_well_formed(parts)
    constants = ConstantPool(parts.constants)
    names = NamePool(parts.names, "global or attribute name")
    numbers = _numbers(parts, constants, names)
    starts, jumps = _layout(parts, numbers)
    for index, number in jumps.items():
        numbers[index] = number
    # CPython may ask for more than we count, and a copy of its code has to be equal.
    stacksize = max(parts.stacksize, stack_depth.highest(parts))
    raw, lines, table = _bytes(parts, numbers, starts), _lines(parts, starts), _table(parts, starts)
    try:
        return CodeType(
            parts.argcount,
            parts.posonlyargcount,
            parts.kwonlyargcount,
            len(parts.varnames),
            stacksize,
            parts.flags,
            raw,
            tuple(constants.values),
            tuple(names.names),
            tuple(parts.varnames),
            parts.filename,
            parts.name,
            parts.qualname,
            parts.firstlineno,
            lines,
            table,
            tuple(parts.freevars),
            tuple(parts.cellvars),
        )
    # What CPython refuses by itself: more arguments than locals, a stack that is too large.
    except (ValueError, OverflowError, SystemError) as error:
        raise AssembleError(f"{parts.qualname}: {error}") from error


def argument_numbers(parts: CodeParts) -> list[int]:
    """The number that would be written beside each instruction; zero for jumps."""
    return _numbers(parts, ConstantPool(parts.constants), NamePool(parts.names, "name"))


def _numbers(parts: CodeParts, constants: ConstantPool, names: NamePool) -> list[int]:
    encoders = _encoders(parts, constants, names)
    numbers: list[int] = []
    for index, instruction in enumerate(parts.instructions):
        kind = KINDS.get(instruction.name)
        if kind is None:
            raise make_unknown_instruction(instruction.name, parts.qualname)
        try:
            numbers.append(_number(encoders[kind](instruction)))
        except (AssembleError, ValueError, TypeError, IndexError) as error:
            where = f"{parts.qualname}: {instruction.name} at {index}"
            said = (
                f": {error}" if isinstance(error, AssembleError) else f" cannot take {instruction.argument!r}"
            )
            raise AssembleError(where + said) from error
    return numbers


def _encoders(parts: CodeParts, constants: ConstantPool, names: NamePool) -> dict[ArgumentKind, _Encoder]:
    slots = NamePool(parts.slot_names(), "local variable", closed=True)
    cells = _cell_numbers(parts, slots)

    def make_flag_encoder(bits: int) -> _Encoder:
        def encode(instruction: Instruction) -> int:
            name, flags = _split_flags(instruction.argument, bits)
            # -1, no hint, stays -1 when it is shifted.
            return names.number(name, instruction.hint >> bits) << bits | flags

        return encode

    def compare(instruction: Instruction) -> int:
        symbol, flags = _split_flags(instruction.argument, COMPARE_SHIFT)
        return COMPARE_SYMBOLS.index(str(symbol)) << COMPARE_SHIFT | flags

    def local_pair(instruction: Instruction) -> int:
        if not isinstance(instruction.argument, tuple):
            raise ValueError(instruction.argument)
        first, second = instruction.argument
        hint = instruction.hint
        # Here it does not: -1 & 15 is a slot.
        number = slots.number(second, hint & 15 if hint >= 0 else -1)
        if number > 15:
            raise AssembleError(f"{second!r} is local {number}, a pair reaches 15; write two instructions")
        return slots.number(first, hint >> 4) << 4 | number

    def cell(instruction: Instruction) -> int:
        name = instruction.argument
        # One name may have two slots, a free variable's and that of an inlined comprehension (3.12).
        # The hint tells which.
        if 0 <= instruction.hint < len(slots.names) and slots.names[instruction.hint] == name:
            return instruction.hint
        if name not in cells:
            raise AssembleError(f"{name!r} is neither a cell nor a free variable")
        return cells[str(name)]

    return {
        ArgumentKind.NONE: lambda instruction: _number(instruction.argument or 0),
        ArgumentKind.NUMBER: lambda instruction: _number(instruction.argument),
        # These two count instructions, whose places are not known before `_layout`.
        ArgumentKind.JUMP: lambda instruction: 0,
        ArgumentKind.ORIGIN: lambda instruction: 0,
        ArgumentKind.CONSTANT: lambda instruction: constants.number(instruction.argument, instruction.hint),
        ArgumentKind.NAME: lambda instruction: names.number(instruction.argument, instruction.hint),
        ArgumentKind.NAME_FLAG1: make_flag_encoder(1),
        ArgumentKind.NAME_FLAG2: make_flag_encoder(2),
        ArgumentKind.LOCAL: lambda instruction: slots.number(instruction.argument, instruction.hint),
        ArgumentKind.LOCAL_PAIR: local_pair,
        ArgumentKind.CELL: cell,
        ArgumentKind.COMPARE: compare,
        ArgumentKind.BINARY: lambda instruction: BINARY_SYMBOLS.index(str(instruction.argument)),
        # From 1 on: no intrinsic has the number 0, at which 3.12 crashes.
        ArgumentKind.INTRINSIC1: lambda instruction: INTRINSICS1.index(str(instruction.argument), 1),
        ArgumentKind.INTRINSIC2: lambda instruction: INTRINSICS2.index(str(instruction.argument), 1),
        ArgumentKind.COMMON: lambda instruction: _common(instruction.argument),
        ArgumentKind.SPECIAL: lambda instruction: SPECIAL_METHODS.index(str(instruction.argument)),
    }


def _cell_numbers(parts: CodeParts, slots: NamePool) -> dict[str, int]:
    """Slot of each cell and free variable; a cell that is also a local shares the local's slot."""
    first_free = len(slots.names) - len(parts.freevars)
    found = {name: first_free + index for index, name in enumerate(parts.freevars)}
    found.update({name: slots.number(name) for name in parts.cellvars})
    return found


def _split_flags(argument: object, bits: int) -> tuple[object, int]:
    if not isinstance(argument, tuple) or len(argument) != 2 or _number(argument[1]) >> bits:
        raise ValueError(argument)
    return argument[0], _number(argument[1])


def _number(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value <= _LARGEST:
        raise ValueError(value)
    return value


def _common(value: object) -> int:
    """The number of this very constant: `1 == True` must not find the other one."""
    found = [number for number, known in enumerate(COMMON_CONSTANTS) if known is value]
    if not found:
        raise ValueError(value)
    return found[0]


def _partial_entries(number: int) -> int:
    return 0 if number < 256 else 1 if number < 65536 else 2 if number < 1 << 24 else 3


def _layout(parts: CodeParts, numbers: list[int]) -> tuple[list[int], dict[int, int]]:
    """Code unit where each instruction starts (and the end), and the numbers of the jumps."""
    instructions = parts.instructions
    index_of = parts.instruction_indices()
    targets = {
        index: index_of.get(one.target) for index, one in enumerate(instructions) if one.target is not None
    }
    targets |= _origins(instructions, index_of)
    for index, instruction in enumerate(instructions):
        if KINDS[instruction.name] is ArgumentKind.JUMP:
            _set_direction(parts, index, instruction, targets.get(index))
    prefixes = [
        max(_partial_entries(number), one.width) for number, one in zip(numbers, instructions, strict=True)
    ]
    sizes = [1 + CACHES[instruction.name] for instruction in instructions]
    jumps: dict[int, int] = {}
    # A prefix for one jump may lengthen others, so repeat until none is added; prefixes only grow, so this ends.
    while True:
        starts = [0]
        for size, more in zip(sizes, prefixes, strict=True):
            starts.append(starts[-1] + size + more)
        changed = False
        for index, target in targets.items():
            # A jump without one was refused by `_set_direction`; an origin that was removed counts as itself.
            assert target is not None
            # Counted from behind the jump and its caches, in both directions: the direction is in the name.
            jumps[index] = abs(starts[target] - starts[index + 1])
            if _partial_entries(jumps[index]) > prefixes[index]:
                prefixes[index] = _partial_entries(jumps[index])
                changed = True
        if not changed:
            return starts, jumps


def _origins(
    instructions: Sequence[Instruction], index_of: Mapping[Instruction, int]
) -> dict[int, int | None]:
    """Index of each instruction that names where it comes from -> that one's index; one that was removed counts as itself."""
    return {
        index: index_of.get(one.argument, index) if isinstance(one.argument, Instruction) else index
        for index, one in enumerate(instructions)
        if KINDS[one.name] is ArgumentKind.ORIGIN
    }


def _set_direction(parts: CodeParts, index: int, instruction: Instruction, target: int | None) -> None:
    """Give a jump the name for the direction of its target; AssembleError if it has none for going back."""
    if target is None:
        raise AssembleError(f"{parts.qualname}: {instruction.name} at {index} leads out of the code")
    backward = target <= index
    if backward == is_backward(instruction.name):
        return
    turned = backward_name(instruction.name) if backward else forward_name(instruction.name)
    if turned is None:
        raise AssembleError(f"{parts.qualname}: {describe_no_way_back(instruction.name, index, target)}")
    instruction.name = turned


def _bytes(parts: CodeParts, numbers: list[int], starts: list[int]) -> bytes:
    out = bytearray()
    for index, instruction in enumerate(parts.instructions):
        number = numbers[index]
        caches = CACHES[instruction.name]
        # The prefixes hold the higher bytes, the highest first.
        for shift in range(starts[index + 1] - starts[index] - 1 - caches, 0, -1):
            out.append(EXTENDED_ARG)
            out.append(number >> 8 * shift & 255)
        out.append(NUMBERS[instruction.name])
        out.append(number & 255)
        # CPython fills inline caches while it runs; a code object begins with empty ones.
        out.extend(bytes(2 * caches))
    return bytes(out)


def _lines(parts: CodeParts, starts: list[int]) -> bytes:
    sizes = (starts[index + 1] - starts[index] for index in range(len(parts.instructions)))
    entries = zip((one.position for one in parts.instructions), sizes, strict=True)
    return line_table.encode(entries, parts.firstlineno)


def _table(parts: CodeParts, starts: list[int]) -> bytes:
    index_of = parts.instruction_indices()
    rows: list[TableRow] = []
    for region in parts.regions:
        end = starts[-1] if region.end is None else starts[index_of[region.end]]
        start = starts[index_of[region.start]]
        rows.append(TableRow(start, end, starts[index_of[region.target]], region.depth, region.push_lasti))
    # CPython finds the row of an offset by binary search (`get_exception_handler` in Python/ceval.c).
    rows.sort()
    # A region may have lost all its instructions.
    return exception_table.encode(row for row in rows if row.start < row.end)
