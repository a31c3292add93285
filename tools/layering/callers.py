"""The rule that a function or class of the product is used by the product, or offered to users."""

import ast
import re
from collections.abc import Collection, Iterator, Sequence

from tools.layering.sources import FUNCTIONS, Problem, Source, everything

DEFINITIONS = (*FUNCTIONS, ast.ClassDef)


PUBLIC_FOLDERS = ("packages/bytecode/src/framesmith/bytecode/emitting/",)
"""Folders whose functions are the public way to use a public class: those on an `Emitter`."""


def public_names() -> set[str]:
    """What the packages offer: `__all__` of each package, and the functions of the public folders."""
    names = set()
    for source in everything():
        if source.path == f"packages/{source.layer}/src/framesmith/{source.layer}/__init__.py":
            names |= {
                node.value
                for one in source.tree.body
                if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "__all__"
                for node in ast.walk(one.value)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
        elif source.path.startswith(PUBLIC_FOLDERS):
            names |= {node.name for node in definitions(source)}
    return names


def definitions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """The functions and classes of a module; one with a decorator that registers it has its caller there."""
    for node in source.tree.body:
        if isinstance(node, DEFINITIONS) and not any(map(_registers, node.decorator_list)):
            yield node


def _registers(decorator: ast.expr) -> bool:
    """Whether a decorator may hand the function to a table: anything but those that only change it."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = (
        called.attr
        if isinstance(called, ast.Attribute)
        else called.id
        if isinstance(called, ast.Name)
        else ""
    )
    return name not in (
        "final",
        "dataclass",
        "cache",
        "lru_cache",
        "contextmanager",
        "runtime_checkable",
        "wraps",
    )


def names_used(tree: ast.AST) -> Iterator[str]:
    """Every name that a module reads: variables, attributes, imports, and identifiers in annotations that are text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            yield from re.findall(r"[A-Za-z_]\w*", node.value)


def _names_called(tree: ast.AST) -> Iterator[str]:
    """The variables that a module calls as functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def without_callers(sources: Sequence[Source], public: Collection[str]) -> list[Problem]:
    """Functions and classes that no module uses, their own recursion aside; `public` names those that others may use."""
    counted: dict[str, int] = {}
    for source in sources:
        package = source.path.endswith("__init__.py")  # its `__all__` hands names on, which is no use of them
        for name in _names_called(source.tree) if package else names_used(source.tree):
            counted[name] = counted.get(name, 0) + 1
    problems = []
    for source in sources:
        for node in definitions(source):
            own = sum(name == node.name for name in names_used(node))
            if counted.get(node.name, 0) <= own and node.name not in public:
                problems.append(source.problem(node, f"{node.name} has no caller"))
    return problems
