"""`co_exceptiontable` to rows and back (format: CPython's Objects/exception_handling_notes.txt)."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, final


@final
class TableRow(NamedTuple):
    """One row, in code units (two bytes each): `start` inclusive, `end` exclusive."""

    start: int
    end: int
    target: int
    depth: int
    push_lasti: bool


def decode(table: bytes) -> Iterator[TableRow]:
    """The rows of an exception table, in order."""
    values: list[int] = []
    value = 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            values.append(value)
            value = 0
    for index in range(0, len(values), 4):
        start, length, target, packed = values[index : index + 4]
        yield TableRow(start, start + length, target, packed >> 1, bool(packed & 1))


def encode(rows: Iterable[TableRow]) -> bytes:
    """The table of these rows, which are sorted and disjoint."""
    out = bytearray()
    for row in rows:
        # Bit 7 marks the first byte of a row, by which CPython finds rows from the middle of the table.
        _append(out, row.start, 128)
        _append(out, row.end - row.start, 0)
        _append(out, row.target, 0)
        _append(out, row.depth << 1 | row.push_lasti, 0)
    return bytes(out)


def _append(out: bytearray, value: int, first_bit: int) -> None:
    chunks = [value & 63]
    while value := value >> 6:
        chunks.append(value & 63 | 64)
    chunks[-1] |= first_bit
    out.extend(reversed(chunks))
