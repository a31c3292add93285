"""Rules on classes: who reads them, how deep they derive."""

import ast

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
