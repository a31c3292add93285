"""What may stand beside an instruction, as far as the instruction alone says it; the interpreter does not ask.

The numbers that are refused in any code object, and the whole argument of one that is being written. Names that the code has to have,
and the numbers of all: `assemble`. What the stack has to hold: `operation_effects`.
"""

from collections.abc import Collection, Sequence
from typing import Final

from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.opcodes import (
    BINARY_SYMBOLS,
    COMPARE_SHIFT,
    COMPARE_SYMBOLS,
    INTRINSICS1,
    INTRINSICS2,
    KINDS,
    SPECIAL_METHODS,
    VERSION,
    ArgumentKind,
)

_LARGEST: Final = 2**31 - 1
_COUNTS: Final = range(_LARGEST + 1)
_PLACES: Final = range(1, _LARGEST + 1)
"""Of a slot, counted from the top: there is no slot 0."""
_NUMBERS: Final[dict[str, Collection[int]]] = {
    **dict.fromkeys(("COPY", "SWAP", "LIST_APPEND", "SET_ADD", "MAP_ADD", "LIST_EXTEND"), _PLACES),
    **dict.fromkeys(("SET_UPDATE", "DICT_UPDATE", "DICT_MERGE"), _PLACES),
    "LOAD_SMALL_INT": range(256),
    "CONVERT_VALUE": range(1, 4),
    "FORMAT_VALUE": range(8),
    # four times the number of a conversion, and whether there is a format in the lowest bit
    "BUILD_INTERPOLATION": range(16),
    "BUILD_SLICE": range(2, 4),
    "RAISE_VARARGS": range(3),
    "IS_OP": range(2),
    "CONTAINS_OP": range(2),
    # the place of the attribute in the function, which one flag says
    "SET_FUNCTION_ATTRIBUTE": (1, 2, 4, 8, 16) if VERSION >= (3, 14) else (1, 2, 4, 8),
}
"""What CPython's compiler writes beside these, without the interpreter asking: it would read memory that is none of the code's."""

CHECKED_NUMBERS: Final = frozenset(_NUMBERS)
"""The instructions of which `expected_number` knows something."""
_FLAG_BITS: Final = {
    ArgumentKind.NAME_FLAG1: 1,
    ArgumentKind.NAME_FLAG2: 2,
    ArgumentKind.COMPARE: COMPARE_SHIFT,
}
_WORDS: Final[dict[ArgumentKind, Sequence[str]]] = {
    ArgumentKind.BINARY: BINARY_SYMBOLS,
    # The first means that there is none.
    ArgumentKind.INTRINSIC1: INTRINSICS1[1:],
    ArgumentKind.INTRINSIC2: INTRINSICS2[1:],
    ArgumentKind.SPECIAL: SPECIAL_METHODS,
}
_NAMES: Final = frozenset({ArgumentKind.LOCAL, ArgumentKind.CELL, ArgumentKind.NAME})


def expected_number(instruction: Instruction) -> str | None:
    """Which numbers may stand beside an instruction that has one that may not, or what is no number, else None."""
    allowed = _NUMBERS.get(instruction.name)
    argument = instruction.argument
    if allowed is None or (isinstance(argument, int) and argument in allowed):
        return None
    remedy = "; LOAD_CONST loads any constant" if instruction.name == "LOAD_SMALL_INT" else ""
    return _describe(allowed) + remedy


def expected_argument(instruction: Instruction) -> str | None:
    """What belongs beside an instruction that has something else there, or None if nothing is wrong with its argument alone."""
    kind, argument = KINDS[instruction.name], instruction.argument
    if kind is ArgumentKind.NUMBER:
        allowed = _NUMBERS.get(instruction.name, _COUNTS)
        right = isinstance(argument, int) and argument in allowed
        return None if right else expected_number(instruction) or _describe(allowed)
    if kind in _NAMES:
        return None if isinstance(argument, str) else "a name"
    if kind in _FLAG_BITS:
        return _expected_pair(argument, kind)
    if kind is ArgumentKind.LOCAL_PAIR:
        return None if _is_pair(argument, str) else "a pair of names"
    if kind in _WORDS:
        return None if argument in _WORDS[kind] else f"one of {', '.join(_WORDS[kind])}"
    if instruction.name == "KW_NAMES":
        return None if is_names(argument) else "a tuple of names"
    return None


def is_names(value: object) -> bool:
    """Whether this is a tuple of strings."""
    return isinstance(value, tuple) and all(isinstance(one, str) for one in value)


def _describe(allowed: Collection[int]) -> str:
    if not isinstance(allowed, range):
        return f"one of {', '.join(map(str, allowed))}"
    return f"{allowed[0]} or more" if allowed[-1] == _LARGEST else f"{allowed[0]} to {allowed[-1]}"


def _expected_pair(argument: object, kind: ArgumentKind) -> str | None:
    bits = _FLAG_BITS[kind]
    if isinstance(argument, tuple) and _is_pair(argument, int) and 0 <= argument[1] < 1 << bits:
        known = argument[0] in COMPARE_SYMBOLS if kind is ArgumentKind.COMPARE else True
        if known:
            return None
    what = f"one of {', '.join(COMPARE_SYMBOLS)}" if kind is ArgumentKind.COMPARE else "name"
    return f"a pair of {what} and flags below {1 << bits}"


def _is_pair(value: object, second: type) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], second)
    )
