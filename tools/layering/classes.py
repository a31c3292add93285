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


DEPTH = 3
"""A root, a family, a class that is instantiated (rule 6)."""


def deep_classes(sources: Sequence[Source], depth: int = DEPTH) -> list[Problem]:
    """Chains of our own classes are short, without exception. Class names are unique."""
    bases: dict[str, list[str]] = {}
    found: dict[str, tuple[Source, ast.ClassDef]] = {}
    for source in sources:
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = (source, node)
                bases[node.name] = [base for one in node.bases for base in _named(one)]

    def chain(name: str) -> list[str]:
        longest = max((chain(base) for base in bases[name] if base in bases), key=len, default=[])
        return [name, *longest]

    return [
        source.problem(node, f"{' < '.join(chain(name))}: more than {depth} classes deep")
        for name, (source, node) in found.items()
        if len(chain(name)) > depth
    ]


def _named(base: ast.expr) -> list[str]:
    """The name of a base, without its type arguments; nothing for one that is no class of ours."""
    named = base.value if isinstance(base, ast.Subscript) else base
    return [named.id] if isinstance(named, ast.Name) else []


def foreign_privates(source: Source) -> list[Problem]:
    """A class reads no private member of an instance of another class, a base of it included."""
    problems = []
    for cls in (node for node in source.tree.body if isinstance(node, ast.ClassDef)):
        own = (
            {
                node.attr if isinstance(node, ast.Attribute) else node.name
                for node in ast.walk(cls)
                if isinstance(node, ast.FunctionDef)
                or (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
            }
            | {
                node.target.id
                for node in cls.body
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
            }
            | {
                name.id
                for node in cls.body
                if isinstance(node, ast.Assign)
                for name in ast.walk(node)
                if isinstance(name, ast.Name)
            }
        )
        slots = {node.value for node in ast.walk(cls) if isinstance(node, ast.Constant)}
        for node in ast.walk(cls):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "self"
                and node.attr.startswith("_")
                and not node.attr.startswith("__")
                and node.attr not in own | slots
            ):
                problems.append(
                    source.problem(node, f"{cls.name} reads self.{node.attr}, which a base keeps to itself")
                )
    return problems
