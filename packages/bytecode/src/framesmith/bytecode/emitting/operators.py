"""Unary, binary and comparing operators."""

from typing import Final

from framesmith.bytecode.emitter import Emitter
from framesmith.bytecode.errors import require_choice
from framesmith.bytecode.opcodes import BINARY_SYMBOLS, NUMBERS, VERSION

_UNARY: Final = {"-": "UNARY_NEGATIVE", "~": "UNARY_INVERT", "+": "UNARY_POSITIVE", "not": "UNARY_NOT"}
# Reading an item is `variables.load_item`, on every version.
_BINARY: Final = tuple(symbol for symbol in BINARY_SYMBOLS if symbol != "[]")
# 3.12 and 3.13 keep, in the low bits, which outcomes of a comparison of small ints or strings are true.
_COMPARE_MASKS: Final = {"<": 2, "<=": 10, "==": 8, "!=": 7, ">": 4, ">=": 12}
_NEGATABLE: Final = ("is", "is not", "in", "not in")


def binary(emitter: Emitter, symbol: str) -> None:
    """`left, right -> left symbol right`; "+=" and its like are the in-place ones."""
    require_choice("binary()", symbol, _BINARY, "binary operator")
    emitter.emit("BINARY_OP", symbol)


def unary(emitter: Emitter, symbol: str) -> None:
    """`value -> symbol value` for "-", "~", "+" and "not"."""
    require_choice("unary()", symbol, _UNARY, "unary operator")
    if symbol == "not" and "TO_BOOL" in NUMBERS:
        emitter.emit("TO_BOOL")
    name = _UNARY[symbol]
    if name in NUMBERS:
        emitter.emit(name)
    else:
        emitter.emit("CALL_INTRINSIC_1", name)


def compare(emitter: Emitter, symbol: str) -> None:
    """`left, right -> left symbol right` for the six comparisons, "is", "is not", "in" and "not in"."""
    require_choice("compare()", symbol, (*_COMPARE_MASKS, *_NEGATABLE), "comparison")
    if symbol in ("is", "is not"):
        emitter.emit("IS_OP", int(symbol == "is not"))
    elif symbol in ("in", "not in"):
        emitter.emit("CONTAINS_OP", int(symbol == "not in"))
    else:
        emitter.emit("COMPARE_OP", (symbol, _COMPARE_MASKS[symbol] if VERSION >= (3, 12) else 0))
