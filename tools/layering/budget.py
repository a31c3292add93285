"""The budget of `Any` and of ignore comments: a number per file, each with its reason, that can only shrink.

The table is `tests/layering/budget.toml`. `python -m tools.layering.budget` writes it anew from the files and keeps the
reasons it knows; a new row gets the comments beside its ignores and mentions, and where there are none an empty
reason, which the test refuses until a person fills it in.
"""

import ast
import io
import json
import re
import tokenize
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tools.layering.sources import ROOT, Problem, Source, everything

TABLE = ROOT / "tests" / "layering" / "budget.toml"
IGNORE = re.compile(r"#\s*(type:\s*ignore|mypy:|pyright:)")


@dataclass(frozen=True, slots=True)
class Row:
    """How often a file may say `Any`, how many ignore comments it may hold, and why."""

    any: int = 0
    ignores: int = 0
    reason: str = ""


def count(source: Source) -> Row:
    """What the file uses: mentions of `Any` other than its import, and ignore comments."""
    mentions = sum(
        (isinstance(node, ast.Name) and node.id == "Any")
        or (isinstance(node, ast.Attribute) and node.attr == "Any")
        for node in ast.walk(source.tree)
    )
    tokens = tokenize.generate_tokens(io.StringIO(source.text).readline)
    comments = sum(token.type == tokenize.COMMENT and bool(IGNORE.search(token.string)) for token in tokens)
    return Row(mentions, comments)


def check(source: Source, row: Row) -> list[Problem]:
    """More than the row allows, less than it allows (lower the row), or a row without a reason."""
    used = count(source)
    problems = []
    for what, has, may in (("Any", used.any, row.any), ("ignore comments", used.ignores, row.ignores)):
        if has > may:
            problems.append(
                source.problem(1, f"{has} {what}, budget {may}; find the type, or add a row with a reason")
            )
        elif has < may:
            problems.append(source.problem(1, f"{has} {what}, budget {may}; well done, lower the row"))
    if (row.any or row.ignores) and not row.reason.strip():
        problems.append(source.problem(1, "its row of the budget gives no reason"))
    return problems


def written_reason(source: Source) -> str:
    """What the file itself says: the comments beside its ignores, and those on lines that mention `Any`."""
    tokens = list(tokenize.generate_tokens(io.StringIO(source.text).readline))
    mentions = {token.start[0] for token in tokens if token.type == tokenize.NAME and token.string == "Any"}
    found = []
    for token in tokens:
        if token.type != tokenize.COMMENT:
            continue
        _, mark, beside = token.string[1:].partition("#")
        if IGNORE.search(token.string):
            found.append(beside if mark else "")
        elif token.start[0] in mentions:
            found.append(token.string[1:])
    return "; ".join(dict.fromkeys(text.strip() for text in found if text.strip()))


def read(path: Path = TABLE) -> dict[str, Row]:
    """The table: path of a file -> its row."""
    if not path.exists():
        return {}
    return {name: Row(**row) for name, row in tomllib.loads(path.read_text(encoding="utf-8")).items()}


def write(path: Path = TABLE) -> None:
    """Write the table anew from the files; reasons are kept."""
    known = read(path)
    lines = [
        "# How often a file may say `Any`, how many ignore comments it may hold, and why (tools/layering/budget.py)."
    ]
    for source in everything():
        used = count(source)
        if used.any or used.ignores:
            text = known.get(source.path, Row()).reason or written_reason(source)
            reason = json.dumps(text, ensure_ascii=False)
            lines += [
                "",
                f'["{source.path}"]',
                f"any = {used.any}",
                f"ignores = {used.ignores}",
                f"reason = {reason}",
            ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
