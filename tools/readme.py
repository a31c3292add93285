"""Run the Python blocks of pages, and compare what each prints with the text block that follows it.

`python tools/readme.py README.md packages/*/README.md`. In a text block `...` stands for anything (doctest's ELLIPSIS). Each block is a file
of its own, because framesmith shows the user's lines; blocks share one namespace.
"""

import contextlib
import doctest
import io
import re
import sys
import tempfile
from pathlib import Path

BLOCKS = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\s*^```text\n(?P<text>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)


def blocks(page: str) -> list[tuple[str, str | None]]:
    """The Python blocks of the page, each with its expected output if a text block follows at once."""
    return [(match["code"], match["text"]) for match in BLOCKS.finditer(page)]


def difference(expected: str, printed: str) -> str:
    """Empty when the output is as expected, else both, one beside the other."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    checker = doctest.OutputChecker()
    if checker.check_output(expected, printed, flags):
        return ""
    return checker.output_difference(doctest.Example("", expected), printed, flags)


def run(page: str, folder: Path) -> int:
    """Run every block; the number of blocks that printed something else."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    wrong = 0
    for number, (code, expected) in enumerate(blocks(page), start=1):
        path = folder / f"block_{number}.py"
        path.write_text(code)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(path), "exec"), namespace)
        print(printed.getvalue(), end="")
        problem = difference(expected, printed.getvalue()) if expected is not None else ""
        if problem:
            wrong += 1
            print(f"block {number} prints something else than the page says:\n{problem}", file=sys.stderr)
    return wrong


def check(path: str) -> bool:
    """Run one page and say how it went; True when it has blocks and each prints what the page says."""
    page = Path(path).read_text(encoding="utf-8")
    found = len(blocks(page))
    with tempfile.TemporaryDirectory() as folder:
        wrong = run(page, Path(folder))
    print(f"{path}: {found - wrong} passed, {wrong} failed")
    return bool(found) and not wrong


def main(arguments: list[str]) -> int:
    """Run the pages named on the command line; 1 when a block differs or a page has none."""
    passed = [check(path) for path in arguments]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
