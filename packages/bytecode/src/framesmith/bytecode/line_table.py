"""Positions to `co_linetable` (format: CPython's Objects/locations.md).

Reading needs no code of ours: `code.co_positions()` does it. The encoder makes the choices CPython's
assembler makes, so that a table read and written is the same, byte for byte.
"""

from collections.abc import Iterable
from typing import Final

from framesmith.bytecode.instruction import Position
from framesmith.bytecode.opcodes import VERSION

# 3.11 writes an entry for each instruction, later versions one for neighbours at one position.
_MERGE: Final = VERSION >= (3, 12)
_LONG: Final = 14
_NO_COLUMNS: Final = 13
_NOWHERE: Final = 15
# The length of an entry has three bits.
_LONGEST: Final = 8


def encode(entries: Iterable[tuple[Position, int]], firstlineno: int) -> bytes:
    """The line table of instructions given as (position, size in code units)."""
    out = bytearray()
    line = firstlineno
    previous: Position | None = None
    size = 0
    for position, units in entries:
        if _MERGE and position == previous:
            size += units
            continue
        if previous is not None:
            line = _entry(out, previous, size, line)
        previous, size = position, units
    if previous is not None:
        _entry(out, previous, size, line)
    return bytes(out)


def _entry(out: bytearray, position: Position, size: int, line: int) -> int:
    while size > _LONGEST:
        line = _short_entry(out, position, _LONGEST, line)
        size -= _LONGEST
    return _short_entry(out, position, size, line)


def _short_entry(out: bytearray, position: Position, size: int, line: int) -> int:
    start, end, column, end_column = position
    if start is None:
        out.append(128 | _NOWHERE << 3 | size - 1)
        return line
    delta = start - line
    if column is None or end_column is None:
        if end is None or end == start:
            out.append(128 | _NO_COLUMNS << 3 | size - 1)
            _signed(out, delta)
            return start
        # An end line without columns needs the long form, which counts columns from 1: 0 is none.
        column = end_column = -1
    elif end == start:
        if delta == 0 and column < 80 and 0 <= end_column - column < 16:
            out.append(128 | column >> 3 << 3 | size - 1)
            out.append((column & 7) << 4 | end_column - column)
            return start
        if 0 <= delta < 3 and column < 128 and end_column < 128:
            out.append(128 | 10 + delta << 3 | size - 1)
            out.append(column)
            out.append(end_column)
            return start
    out.append(128 | _LONG << 3 | size - 1)
    _signed(out, delta)
    _unsigned(out, (start if end is None else end) - start)
    _unsigned(out, column + 1)
    _unsigned(out, end_column + 1)
    return start


def _unsigned(out: bytearray, value: int) -> None:
    while value >= 64:
        out.append(value & 63 | 64)
        value >>= 6
    out.append(value)


def _signed(out: bytearray, value: int) -> None:
    _unsigned(out, -value << 1 | 1 if value < 0 else value << 1)
