"""Rules on imports: where they stand, which way they point, what is declared. See also the contracts in pyproject.toml."""

import ast
import sys
import tomllib
from collections.abc import Iterator

from tools.layering.sources import (
    FUNCTIONS,
    MAY_IMPORT,
    OPTIONAL,
    ROOT,
    THIRD_PARTY,
    Problem,
    Source,
)

IMPORTS = (ast.Import, ast.ImportFrom)
LATE = {
    "packages/graph/src/framesmith/graph/backends/backend.py": "inductor takes seconds to load, and few programs get there",
    "packages/graph/src/framesmith/graph/environment/deferred_package.py": "imports the package whose body it puts off",
    "packages/graph/src/framesmith/graph/environment/dynamo_package.py": "imports what the first trace needs and no earlier call does",
    "packages/variables/src/framesmith/variables/numpy_values/array_nodes.py": "few programs compute with arrays of numpy",
    "packages/variables/src/framesmith/variables/distributed/collectives.py": "few programs have several processes",
    "packages/frontend/src/framesmith/frontend/first_imports.py": "imports what the user's function imports",
    "packages/frontend/src/framesmith/frontend/cli.py": "loads the user's module, named on the command line",
}
"""File -> why it may call `import_module`. What it loads is never named by a constant that is a module of ours."""

DYNAMIC = {"import_module", "__import__"}
VERSION_QUESTIONS = {("sys", "version_info"), ("sys", "hexversion"), ("platform", "python_version")}


def imported_names(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """(node, dotted name) for every name that an absolute import of the tree mentions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)


def is_late_import(node: ast.AST) -> bool:
    """Whether the node calls `import_module` or `__import__`: an import in disguise."""
    if not isinstance(node, ast.Call):
        return False
    return (
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    ) in DYNAMIC


def names_ours(node: ast.AST) -> bool:
    """Whether a text inside the node names a module of ours."""
    texts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    return any(isinstance(text, str) and text.startswith("framesmith") for text in texts)


def inside_functions(source: Source) -> list[Problem]:
    """Imports stand on top of the file: none inside a function, and none in disguise in a file without a row in LATE."""
    found = {
        node
        for function in ast.walk(source.tree)
        if isinstance(function, (*FUNCTIONS, ast.Lambda))
        for node in ast.walk(function)
        if isinstance(node, IMPORTS)
    }
    late = {node for node in ast.walk(source.tree) if is_late_import(node)}
    hidden = {node for node in late if source.path not in LATE or names_ours(node)}
    texts = {
        "an import inside a function; move it to the top of the file": found,
        "an import that no contract sees; write it as one, on top of the file": hidden,
    }
    return [source.problem(node, text) for text, nodes in texts.items() for node in nodes]


def relative(source: Source) -> list[Problem]:
    """Imports name the whole path."""
    return [
        source.problem(node, "a relative import; name the whole path, framesmith.<layer>.<module>")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]


def upward(source: Source) -> list[Problem]:
    """A layer imports the layers its row names, and itself; `if TYPE_CHECKING` is no excuse."""
    allowed = {source.layer, *MAY_IMPORT[source.layer]}
    problems = []
    for node, name in imported_names(source.tree):
        parts = name.split(".")
        if parts[0] == "framesmith" and (len(parts) < 2 or parts[1] not in allowed):
            problems.append(
                source.problem(node, f"{source.layer} imports {name}; it may import {sorted(allowed)}")
            )
    return problems


def dynamo(source: Source) -> list[Problem]:
    """torch._dynamo is neither imported nor reached as an attribute of torch, which would import it."""
    reached = [node for node, name in imported_names(source.tree) if f"{name}.".startswith("torch._dynamo.")]
    reached += [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
        and node.attr == "_dynamo"
        and getattr(node.value, "id", "") == "torch"
    ]
    return [source.problem(node, "torch._dynamo is not ours to import") for node in reached]


def version_questions(source: Source) -> list[Problem]:
    """Only the bytecode package asks which Python this is."""
    if source.layer == "bytecode":
        return []
    asked = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and (getattr(node.value, "id", ""), node.attr) in VERSION_QUESTIONS
    ]
    asked += [
        node for node, name in imported_names(source.tree) if tuple(name.split(".", 1)) in VERSION_QUESTIONS
    ]
    return [
        source.problem(node, "the version of Python is looked at in framesmith.bytecode only")
        for node in asked
    ]


def third_party(source: Source) -> list[Problem]:
    """Outside the standard library a module imports what its layer declares; an extra, in its own folder only."""
    declared = {"framesmith", *THIRD_PARTY[source.layer]}
    declared |= {
        name for name, extra in OPTIONAL.get(source.layer, {}).items() if f"/{extra}/" in source.path
    }
    problems = []
    for node, name in imported_names(source.tree):
        top = name.split(".")[0]
        if top not in declared and top not in sys.stdlib_module_names:
            problems.append(source.problem(node, f"{source.layer} imports {top}, which it does not declare"))
    return problems


def declared_dependencies(layer: str) -> set[str]:
    """Names of the distributions that the layer's pyproject.toml declares, extras left out."""
    project = tomllib.loads((ROOT / "packages" / layer / "pyproject.toml").read_text())["project"]
    return {line.split(">")[0].split("=")[0].split("<")[0].strip() for line in project["dependencies"]}


def table_row(layer: str) -> set[str]:
    """Names of the distributions that the design lets the layer declare."""
    return {*THIRD_PARTY[layer], *(f"framesmith-{below}" for below in MAY_IMPORT[layer])}
