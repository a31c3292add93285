"""The opcodes of the Python that runs: their numbers, inline caches, and what their arguments mean (`ArgumentKind`).

What an opcode *does* is in `operation_tables`. `VERSION` is defined here; the other modules of this package import it from
here, and no other package depends on it.
The numbers come from the standard library's `opcode` module; the layouts of packed arguments from
Python/compile.c and Python/bytecodes.c of the versions named.
"""

import opcode
import sys
from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

VERSION: Final = sys.version_info[:2]
SUPPORTED: Final = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))

NULL_FIRST: Final = VERSION < (3, 13)
"""Whether the NULL of a call is below the callable (True) or between it and the arguments."""

CLOSURE_LOAD: Final = "LOAD_FAST" if VERSION >= (3, 13) else "LOAD_CLOSURE"
"""The opcode that pushes a cell itself."""


class ArgumentKind(Enum):
    """What the number beside an opcode (its oparg) means."""

    NONE = "none"
    NUMBER = "number"
    CONSTANT = "constant"
    NAME = "name"
    NAME_FLAG1 = "name, one flag bit"
    NAME_FLAG2 = "name, two flag bits"
    LOCAL = "local"
    LOCAL_PAIR = "two locals"
    CELL = "cell"
    JUMP = "jump"
    ORIGIN = "the instruction whose result it ends"
    COMPARE = "comparison"
    BINARY = "binary operator"
    INTRINSIC1 = "intrinsic of one argument"
    INTRINSIC2 = "intrinsic of two arguments"
    COMMON = "constant that every program shares"
    SPECIAL = "special method"


def _cache_sizes() -> dict[str, int]:
    # A list indexed by opcode up to 3.12, a mapping by name from 3.13 (a frozendict from 3.15).
    entries: list[int] | Mapping[str, int] = vars(opcode)["_inline_cache_entries"]
    if isinstance(entries, list):
        return {name: int(entries[number]) for name, number in opcode.opmap.items() if number < 256}
    return {name: int(entries.get(name, 0)) for name in opcode.opmap}


_INTERNAL: Final = ("INSTRUMENTED_", "CACHE", "RESERVED", "ENTER_EXECUTOR", "TRACE_RECORD")
NUMBERS: Final = MappingProxyType(
    {name: number for name, number in opcode.opmap.items() if number < 256 and not name.startswith(_INTERNAL)}
)
"""The number of every instruction that a code object may hold, by name; without pseudo and instrumented instructions."""

NAMES: Final = {number: name for name, number in NUMBERS.items()}
CACHES: Final = _cache_sizes()
EXTENDED_ARG: Final = opcode.EXTENDED_ARG
COMPARE_SYMBOLS: Final = ("<", "<=", "==", "!=", ">", ">=")
# Below the symbol: from 3.12 on a mask of outcomes, from 3.13 on the flag for a bool.
COMPARE_SHIFT: Final = {(3, 11): 0, (3, 12): 4}.get(VERSION, 5)
BINARY_SYMBOLS: Final = (
    "+",
    "&",
    "//",
    "<<",
    "@",
    "*",
    "%",
    "|",
    "**",
    ">>",
    "-",
    "/",
    "^",
    "+=",
    "&=",
    "//=",
    "<<=",
    "@=",
    "*=",
    "%=",
    "|=",
    "**=",
    ">>=",
    "-=",
    "/=",
    "^=",
    *(("[]",) if VERSION >= (3, 14) else ()),  # BINARY_SUBSCR before
)
INTRINSICS1: Final = [
    "INVALID",
    "PRINT",
    "IMPORT_STAR",
    "STOPITERATION_ERROR",
    "ASYNC_GEN_WRAP",
    "UNARY_POSITIVE",
    "LIST_TO_TUPLE",
    "TYPEVAR",
    "PARAMSPEC",
    "TYPEVARTUPLE",
    "SUBSCRIPT_GENERIC",
    "TYPEALIAS",
]
INTRINSICS2: Final = [
    "INVALID",
    "PREP_RERAISE_STAR",
    "TYPEVAR_WITH_BOUND",
    "TYPEVAR_WITH_CONSTRAINTS",
    "SET_FUNCTION_TYPE_PARAMS",
    *(("SET_TYPEPARAM_DEFAULT",) if VERSION >= (3, 13) else ()),
]

COMMON_CONSTANTS: Final[list[object]] = list(vars(opcode).get("_common_constants", ()))
"""What LOAD_COMMON_CONSTANT (3.14) pushes, by number."""
SPECIAL_METHODS: Final[list[str]] = list(vars(opcode).get("_special_method_names", ()))
"""What LOAD_SPECIAL (3.14) looks up, by number."""

# `opcode.hasfree` is empty from 3.14 on: cells are slots of the frame as locals are
_CELLS: Final = ("LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_FROM_DICT_OR_DEREF", "MAKE_CELL")
_EXACT: Final = {
    **dict.fromkeys(_CELLS, ArgumentKind.CELL),
    "LOAD_GLOBAL": ArgumentKind.NAME_FLAG1,
    "LOAD_ATTR": ArgumentKind.NAME_FLAG1 if VERSION >= (3, 12) else ArgumentKind.NAME,
    "LOAD_SUPER_ATTR": ArgumentKind.NAME_FLAG2,
    "COMPARE_OP": ArgumentKind.COMPARE,
    "BINARY_OP": ArgumentKind.BINARY,
    "CALL_INTRINSIC_1": ArgumentKind.INTRINSIC1,
    "CALL_INTRINSIC_2": ArgumentKind.INTRINSIC2,
    "LOAD_FAST_LOAD_FAST": ArgumentKind.LOCAL_PAIR,
    "STORE_FAST_LOAD_FAST": ArgumentKind.LOCAL_PAIR,
    "STORE_FAST_STORE_FAST": ArgumentKind.LOCAL_PAIR,
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ArgumentKind.LOCAL_PAIR,
    "LOAD_COMMON_CONSTANT": ArgumentKind.COMMON,
    "LOAD_SPECIAL": ArgumentKind.SPECIAL,
}
if VERSION >= (3, 14):
    _EXACT["END_ASYNC_FOR"] = ArgumentKind.ORIGIN
if VERSION >= (3, 15):
    # 1: lazily, 2: at once, whatever the interpreter is set to
    _EXACT["IMPORT_NAME"] = ArgumentKind.NAME_FLAG2


def _argument_kind(name: str, number: int) -> ArgumentKind:
    if name in _EXACT:
        return _EXACT[name]
    for numbers, kind in (
        (opcode.hasconst, ArgumentKind.CONSTANT),
        (opcode.hasname, ArgumentKind.NAME),
        (opcode.hasfree, ArgumentKind.CELL),
        (opcode.haslocal, ArgumentKind.LOCAL),
        (opcode.hasjrel, ArgumentKind.JUMP),
    ):
        if number in numbers:
            return kind
    # From 3.12 on this list says it; up to 3.11 the numbers are in two groups.
    with_argument: object = getattr(opcode, "hasarg", None)
    if isinstance(with_argument, list):
        return ArgumentKind.NUMBER if number in with_argument else ArgumentKind.NONE
    return ArgumentKind.NUMBER if number >= opcode.HAVE_ARGUMENT else ArgumentKind.NONE


KINDS: Final = {name: _argument_kind(name, number) for name, number in NUMBERS.items()}


def is_backward(name: str) -> bool:
    """Whether a jump's number counts backwards from the next instruction."""
    return "JUMP_BACKWARD" in name


def forward_name(name: str) -> str:
    """The forward jump with the same meaning."""
    if name.startswith("JUMP_BACKWARD"):
        return "JUMP_FORWARD"
    return name.replace("_BACKWARD_", "_FORWARD_")


def backward_name(name: str) -> str | None:
    """The backward jump with the same meaning, or None if this version has none."""
    if name == "JUMP_FORWARD":
        return "JUMP_BACKWARD"
    # Conditional jumps go both ways in 3.11 alone.
    candidate = name.replace("_FORWARD_", "_BACKWARD_")
    return candidate if candidate in NUMBERS and is_backward(candidate) else None


NO_FALL_THROUGH: Final = frozenset(
    [
        "RETURN_VALUE",
        "RETURN_CONST",
        "RAISE_VARARGS",
        "RERAISE",
        "JUMP_FORWARD",
        "JUMP_BACKWARD",
        "JUMP_BACKWARD_NO_INTERRUPT",
        "INTERPRETER_EXIT",
    ]
)
"""Instructions after which the next one is not reached."""

AFTER_LOOP: Final = (
    ("END_FOR", "POP_ITER")
    if VERSION >= (3, 14)
    else ("END_FOR", "POP_TOP")
    if VERSION >= (3, 13)
    else ("END_FOR",)
)
"""What ends a loop, in front of what follows it; FOR_ITER leads to the first, where that is END_FOR."""
