"""Source files as the rules see them: path, layer, text and syntax tree. No rule lives here."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

MAY_IMPORT = {
    "bytecode": (),
    "guards": ("bytecode",),
    "graph": ("guards",),
    "variables": ("graph", "guards", "bytecode"),
    "frontend": ("variables", "graph", "guards", "bytecode"),
}
"""The table of the design: each layer, lowest first, with the layers it may import."""

THIRD_PARTY = {
    "bytecode": (),
    "guards": ("torch",),
    "graph": ("torch", "sympy"),
    "variables": ("torch",),
    "frontend": ("torch",),
}
"""What each layer declares besides other layers."""

OPTIONAL = {"frontend": {"transformers": "demo", "rich": "demo"}}
"""Layer -> distribution of an extra -> the one folder that may import it."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule at one place; prints as `path:line: text`."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class Source:
    """One module of one layer; `path` is relative to the root of the repository."""

    path: str
    layer: str
    text: str
    tree: ast.Module

    def problem(self, node: ast.AST | int, text: str) -> Problem:
        """A problem at a node or at a line number."""
        return Problem(self.path, node if isinstance(node, int) else getattr(node, "lineno", 1), text)


Rule = Callable[[Source], list[Problem]]


def source(text: str, layer: str = "graph", path: str = "snippet.py") -> Source:
    """A source made from text, for the tests of the rules."""
    return Source(path, layer, text, ast.parse(text))


@cache
def of_layer(layer: str) -> tuple[Source, ...]:
    """All modules of a layer, in order of path."""
    folder = ROOT / "packages" / layer / "src"
    return tuple(
        source(path.read_text(encoding="utf-8"), layer, str(path.relative_to(ROOT)))
        for path in sorted(folder.rglob("*.py"))
    )


def everything() -> tuple[Source, ...]:
    """All modules of all layers, lowest layer first."""
    return tuple(one for layer in MAY_IMPORT for one in of_layer(layer))


def apply(rule: Rule) -> list[Problem]:
    """What the rule finds in all layers."""
    return [problem for one in everything() for problem in rule(one)]


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of the tree, methods and nested ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS))
