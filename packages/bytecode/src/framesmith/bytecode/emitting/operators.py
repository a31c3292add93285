"""Unary, binary and comparing operators."""

from typing import Final

from framesmith.bytecode.emitter import Emitter
from framesmith.bytecode.opcodes import NUMBERS, VERSION

_UNARY: Final = {"-": "UNARY_NEGATIVE", "~": "UNARY_INVERT"}
# 3.12 and 3.13 keep, in the low bits, which outcomes of a comparison of small ints or strings are true.
_COMPARE_MASKS: Final = {"<": 2, "<=": 10, "==": 8, "!=": 7, ">": 4, ">=": 12}


def binary(emitter: Emitter, symbol: str) -> None:
    """`left, right -> left symbol right`; "+=" and its like are the in-place ones."""
    emitter.emit("BINARY_OP", symbol)


def unary(emitter: Emitter, symbol: str) -> None:
    """`value -> symbol value` for "-", "~", "+" and "not"."""
    if symbol == "not":
        if "TO_BOOL" in NUMBERS:
            emitter.emit("TO_BOOL")
        emitter.emit("UNARY_NOT")
    elif symbol == "+":
        if "UNARY_POSITIVE" in NUMBERS:
            emitter.emit("UNARY_POSITIVE")
        else:
            emitter.emit("CALL_INTRINSIC_1", "UNARY_POSITIVE")
    else:
        emitter.emit(_UNARY[symbol])


def compare(emitter: Emitter, symbol: str) -> None:
    """`left, right -> left symbol right` for the six comparisons, "is", "is not", "in" and "not in"."""
    if symbol in ("is", "is not"):
        emitter.emit("IS_OP", int(symbol == "is not"))
    elif symbol in ("in", "not in"):
        emitter.emit("CONTAINS_OP", int(symbol == "not in"))
    else:
        emitter.emit("COMPARE_OP", (symbol, _COMPARE_MASKS[symbol] if VERSION >= (3, 12) else 0))
