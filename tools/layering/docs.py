"""Rules on docstrings: a module, a public class and a public function say what they are."""

import ast

from tools.layering.sources import FUNCTIONS, Problem, Source


def missing_docstrings(source: Source) -> list[Problem]:
    """Modules, and the public classes and functions at their top level, that have no docstring."""
    problems = [] if ast.get_docstring(source.tree) else [source.problem(1, "the module has no docstring")]
    for node in source.tree.body:
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)) or node.name.startswith("_") or is_overload(node):
            continue
        if not ast.get_docstring(node):
            problems.append(source.problem(node, f"{node.name} has no docstring"))
    return problems


def cut_first_lines(source: Source) -> list[Problem]:
    """Modules whose docstring begins with half a sentence: `framesmith where` and tables show its first line alone.

    A line that ends with a colon announces what follows after an empty line; no line goes on in the next one.
    """
    first, _, rest = (ast.get_docstring(source.tree) or ".").partition("\n")
    is_cut = not first.endswith((".", "?", ":")) or (rest != "" and not rest.startswith("\n"))
    text = f"the first line of the docstring is no whole sentence of its own: {first!r}"
    return [source.problem(1, text)] if is_cut else []


def is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether the definition is one signature among several; the last one carries the docstring."""
    return any(getattr(one, "id", getattr(one, "attr", "")) == "overload" for one in node.decorator_list)
