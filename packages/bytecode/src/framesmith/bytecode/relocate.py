"""`relocate_lines`: gives generated code the line numbers of the user's code that it replaces (ADR 0004).

Before: instructions at lines 1, 2, 3 of a generated text. After: each at the line that the caller names for it,
columns dropped. Nested code objects keep theirs.
"""

from collections.abc import Iterator, Sequence
from types import CodeType

from framesmith.bytecode import line_table
from framesmith.bytecode.errors import make_wrong_argument, require_argument, require_code, require_items
from framesmith.bytecode.instruction import NOWHERE, Position


def relocate_lines(code: CodeType, lines: Sequence[int], firstlineno: int) -> CodeType:
    """`code` with line `n` (counted from 1) replaced by `lines[n - 1]`; lines beyond the end take the last one."""
    require_code("relocate_lines()", code)
    wrong, remedy = "no list of line numbers", "pass one for each line of the generated text"
    require_items("relocate_lines()", lines, (Sequence, int), wrong, remedy)
    if not lines:
        raise make_wrong_argument("relocate_lines()", lines, wrong, remedy)
    require_argument("relocate_lines()", firstlineno, int, "no line number", "pass an int")
    table = line_table.encode(_entries(code, lines), firstlineno)
    return code.replace(co_linetable=table, co_firstlineno=firstlineno)


def _entries(code: CodeType, lines: Sequence[int]) -> Iterator[tuple[Position, int]]:
    """The positions with their sizes. Neighbours at one line are one: a generated text has long lines."""
    held, size = NOWHERE, 0
    for start, end, line in code.co_lines():
        mapped = None if line is None else lines[min(line, len(lines)) - 1]
        if mapped != held.line and size:
            yield held, size
            size = 0
        if mapped != held.line:
            held = NOWHERE if mapped is None else Position(mapped, mapped)
        size += (end - start) // 2
    if size:
        yield held, size
