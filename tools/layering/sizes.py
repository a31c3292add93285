"""Rules on size: files, functions, chains of `elif`, classes. Limits in lines, docstrings and blank lines included."""

import ast
from collections.abc import Sequence

from tools.layering.sources import FUNCTIONS, Problem, Source, functions

FILE_AIM, FILE_LIMIT = 150, 500
FUNCTION_AIM, FUNCTION_LIMIT = 60, 80
ELIF_LIMIT = 6
METHODS_LIMIT = 20


def long_files(source: Source, limit: int = FILE_LIMIT) -> list[Problem]:
    """No file has more than `limit` lines."""
    lines = source.text.count("\n")
    return [source.problem(1, f"{lines} lines; split it before {limit}")] if lines > limit else []


def name_largest(files: Sequence[Problem], total: int, count: int = 5) -> str:
    """How many of all files are over the aim, and the largest of them; `files` are what `long_files` finds."""
    lines = {one.path.rpartition("src/framesmith/")[2]: int(one.text.split()[0]) for one in files}
    largest = sorted(lines, key=lines.__getitem__, reverse=True)[:count]
    listed = ", ".join(f"{path} ({lines[path]})" for path in largest)
    return f"{len(files)} of {total} files over {FILE_AIM} lines, the largest: {listed}"


def long_functions(source: Source, limit: int = FUNCTION_LIMIT) -> list[Problem]:
    """No function has more than `limit` lines."""
    return [
        source.problem(function, f"{function.name} has {lines} lines; split it before {limit}")
        for function in functions(source.tree)
        if (lines := (function.end_lineno or 0) - function.lineno + 1) > limit
    ]


def chain_length(node: ast.If) -> int:
    """How many `elif` follow the `if`."""
    length = 0
    while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        node = node.orelse[0]
        length += 1
    return length


def long_chains(source: Source) -> list[Problem]:
    """A choice with more than six `elif` is a table."""
    return [
        source.problem(node, f"a chain of {length} elif; make it a table")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.If) and (length := chain_length(node)) == ELIF_LIMIT + 1
    ]


def crowded_classes(source: Source, reasons: dict[str, str]) -> list[Problem]:
    """A class with more than twenty public methods needs a reason, listed under `<path>::<class>`."""
    problems = []
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.ClassDef) or reasons.get(f"{source.path}::{node.name}"):
            continue
        public = [one for one in node.body if isinstance(one, FUNCTIONS) and not one.name.startswith("_")]
        if len(public) > METHODS_LIMIT:
            problems.append(
                source.problem(node, f"{node.name} has {len(public)} public methods; give a reason")
            )
    return problems
