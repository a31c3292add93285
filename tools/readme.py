"""Run the Python blocks of a page, and compare what each prints with the text block that follows it.

`python tools/readme.py README.md`. In a text block `...` stands for anything (doctest's ELLIPSIS). Each block is a file
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


def main(arguments: list[str]) -> int:
    """Run the page named on the command line; 1 when a block differs or there is none."""
    page = Path(arguments[0]).read_text()
    found = len(blocks(page))
    with tempfile.TemporaryDirectory() as folder:
        wrong = run(page, Path(folder))
    print(f"{arguments[0]}: {found - wrong} passed, {wrong} failed")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
