"""`diff`: how two code objects differ, as the unified diff of their texts."""

import difflib
import re
from types import CodeType
from typing import Final

from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.errors import require_code
from framesmith.bytecode.text import text

_POOL_NUMBER: Final = re.compile(r" #\d+ = ")


def diff(
    one: CodeType | CodeParts, other: CodeType | CodeParts, *, positions: bool = True, context: int = 3
) -> str:
    """The unified diff of the two texts, empty if they are equal; `positions=False` leaves source positions out.

    Nested code objects are compared too. The index of a constant in the pool does not count.
    """
    for code in (one, other):
        if not isinstance(code, CodeParts):
            require_code("diff()", code)
    before, after = _lines(one, positions), _lines(other, positions)
    found = difflib.unified_diff(before, after, "first", "second", n=context, lineterm="")
    return "\n".join(found)


def _lines(code: CodeType | CodeParts, positions: bool) -> list[str]:
    found: list[str] = []
    for line in text(code).text.splitlines():
        line = _POOL_NUMBER.sub(" ", line)
        if not positions:
            line = re.sub(r" *\[[\d?]+:[\d?]+ [\d?]+:[\d?]+\]$", "", line)
        found.append(line)
    return found
