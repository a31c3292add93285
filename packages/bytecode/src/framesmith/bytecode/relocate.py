"""`relocate_lines`: generated code takes the line numbers of the code that it stands for.

Before: instructions at lines 1, 2, 3 of a generated text. After: each at the line that the caller names for it,
columns dropped. Nested code objects keep theirs.

Source of the format: CPython Objects/locations.md ("no column info" is code 13, "no location" 15).
"""

from collections.abc import Sequence
from types import CodeType
from typing import Final

_LONGEST: Final = 8
_NO_COLUMN: Final = 13
_NO_LOCATION: Final = 15


def relocate_lines(code: CodeType, lines: Sequence[int], firstlineno: int) -> CodeType:
    """`code` with line `n` (counted from 1) replaced by `lines[n - 1]`; lines beyond the end take the last one."""
    table = bytearray()
    before = firstlineno
    for start, end, line in code.co_lines():
        units = (end - start) // 2
        if line is None:
            delta, form = None, _NO_LOCATION
        else:
            mapped = lines[min(line, len(lines)) - 1]
            delta, form, before = mapped - before, _NO_COLUMN, mapped
        while units > 0:
            size = min(units, _LONGEST)
            table.append(0x80 | form << 3 | size - 1)
            if delta is not None:
                table += _signed(delta)
                delta = 0
            units -= size
    return code.replace(co_linetable=bytes(table), co_firstlineno=firstlineno)


def _signed(value: int) -> bytes:
    """A signed number in groups of six bits, the lowest first; the sign is the lowest bit."""
    number = (-value << 1 | 1) if value < 0 else value << 1
    groups = bytearray()
    while number >= 64:
        groups.append(0x40 | number & 63)
        number >>= 6
    groups.append(number)
    return bytes(groups)
