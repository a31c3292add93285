"""What the scripts beside the packages import from them is there: no type checker reads these folders."""

import ast
import importlib
import importlib.util
from collections.abc import Iterator

import pytest
from tools import pages

SCRIPTS = sorted(
    str(path.relative_to(pages.ROOT))
    for folder in ("benchmarks", "tools", "examples")
    for path in (pages.ROOT / folder).rglob("*.py")
)


def imported(script: str) -> Iterator[tuple[str, str]]:
    """The names that a script imports from framesmith, with their modules."""
    for node in ast.walk(ast.parse((pages.ROOT / script).read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "framesmith":
            yield from ((str(node.module), alias.name) for alias in node.names)


@pytest.mark.parametrize("script", [script for script in SCRIPTS if [*imported(script)]])
def test_what_a_script_imports_from_framesmith_is_there(script) -> None:
    missing = [
        f"{module}.{name}"
        for module, name in imported(script)
        if not hasattr(importlib.import_module(module), name)
        and importlib.util.find_spec(f"{module}.{name}") is None
    ]
    assert not missing
