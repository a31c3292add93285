"""The rule on unit tests: every module of `frontend`, the largest package, is imported by one of its own tests.

End-to-end tests run all of them at once, so they do not show where a fault is.
"""

import ast
from collections.abc import Iterable

from tools.layering.sources import ROOT, Problem, Source, of_layer

WITHOUT_TESTS: dict[str, str] = {}
"""`<path>` -> why no unit test imports the module; it is meant to stay empty."""


def imported_by(texts: Iterable[str]) -> set[str]:
    """The dotted names that these programs import: modules, and what is taken out of them."""
    found: set[str] = set()
    for text in texts:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                found.add(node.module)
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def dotted(path: str) -> str:
    """The module's name: `packages/a/src/framesmith/a/b.py` is `framesmith.a.b`."""
    return path.partition("/src/")[2].removesuffix(".py").replace("/", ".")


def untested(sources: Iterable[Source], tests: Iterable[str]) -> list[Problem]:
    """Modules with code that no test imports."""
    imported = imported_by(tests)
    return [
        source.problem(1, f"no test in packages/{source.layer}/tests imports {dotted(source.path)}")
        for source in sources
        if not source.path.endswith("__init__.py")
        and source.path not in WITHOUT_TESTS
        and dotted(source.path) not in imported
    ]


def untested_of(layer: str) -> list[Problem]:
    """The same for a package and its own tests."""
    tests = sorted((ROOT / "packages" / layer / "tests").glob("*.py"))
    return untested(of_layer(layer), [path.read_text(encoding="utf-8") for path in tests])
