"""Rules on classes: who reads them, what they are called."""

import ast
from collections.abc import Sequence

from tools.layering.sources import Problem, Source

CLASS_LOOKUP = "packages/guards/src/framesmith/guards/class_lookup.py"
_ORDERS = ("__mro__", "__flags__", "__dictoffset__", "__weakrefoffset__", "__basicsize__", "mro")


def own_walks(source: Source) -> list[Problem]:
    """What CPython knows of a class is read in one module, which asks no metaclass."""
    if source.path == CLASS_LOOKUP:
        return []
    return [
        source.problem(node, f"reads {node.attr} of a class; ask guards.class_lookup")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
        and (
            node.attr in _ORDERS
            or (node.attr == "__dict__" and isinstance(node.value, ast.Name) and node.value.id == "type")
        )
    ]


def repeated_names(sources: Sequence[Source]) -> list[Problem]:
    """A class name stands for one class in all packages; nested classes are named through their outer one."""
    first: dict[str, str] = {}
    problems = []
    for source in sources:
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef):
                known = first.setdefault(node.name, source.path)
                if known != source.path:
                    problems.append(
                        source.problem(node, f"class {node.name} is also one of {known}; name one anew")
                    )
    return problems
