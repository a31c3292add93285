"""Rules on the folders: what each package holds, how changelog fragments are named, and what no file may mention."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tools.layering.sources import ROOT, Problem

EXPECTED = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "changelog", "tests")
FRAGMENT = re.compile(r"[a-z0-9][a-z0-9._-]*\.(added|changed|fixed|removed)\.md")
MACHINE_PATH = re.compile(
    r"(?<![\w.~-])/(?:root|work|home|Users)/\w|file:/{2}|https?://(?:[\w.-]*pypi|download\.)[\w.-]*/"
)
TEXT = {"", ".py", ".md", ".toml", ".case", ".txt", ".html", ".json", ".cfg"}
GENERATED = {"dist", "build", "__pycache__", "results"}


def missing_parts(package: Path) -> list[Problem]:
    """What every package folder holds, and what it must not hold."""
    layer = package.name
    problems = [
        Problem(str(package), 1, f"has no {name}") for name in EXPECTED if not (package / name).exists()
    ]
    namespace = package / "src" / "framesmith"
    if (namespace / "__init__.py").exists():
        problems.append(
            Problem(str(namespace), 1, "framesmith is a namespace shared by five packages: no __init__.py")
        )
    if not (namespace / layer / "py.typed").exists():
        problems.append(Problem(str(namespace / layer), 1, "has no py.typed"))
    return problems


def bad_fragments(package: Path) -> list[Problem]:
    """Changelog fragments whose name is not `<words>.<added|changed|fixed|removed>.md`, or that are empty."""
    problems = []
    for path in sorted((package / "changelog").iterdir()):
        if not FRAGMENT.fullmatch(path.name):
            problems.append(Problem(str(path), 1, "name it <words>.<added|changed|fixed|removed>.md"))
        elif not path.read_text(encoding="utf-8").strip():
            problems.append(Problem(str(path), 1, "an empty fragment"))
    return problems


def bad_ranges(package: Path) -> list[Problem]:
    """Dependencies on other layers that are not a range with a floor and a ceiling."""
    declared = tomllib.loads((package / "pyproject.toml").read_text())["project"]["dependencies"]
    return [
        Problem(str(package / "pyproject.toml"), 1, f"{line}: give a floor and a ceiling, as in >=0.1,<0.2")
        for line in declared
        if line.startswith(("framesmith-", "torch")) and not (">=" in line and ",<" in line)
    ]


def text_files(root: Path = ROOT) -> Iterator[Path]:
    """Every text file of the repository that a person wrote; folders that start with a dot are left out, but .ci.

    In a worktree `.git` is a file, which git writes: it names the repository's place.
    """
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        hidden = parts[0] == ".git" or any(part.startswith(".") and part != ".ci" for part in parts[:-1])
        if hidden or GENERATED & set(parts) or path.suffix not in TEXT or not path.is_file():
            continue
        yield path


def machine_paths(name: str, text: str) -> list[Problem]:
    """Lines that name a folder of somebody's machine or the address of a package registry."""
    return [
        Problem(name, number, f"names a place on one machine or a registry: {match.group()}")
        for number, line in enumerate(text.splitlines(), start=1)
        if (match := MACHINE_PATH.search(line))
    ]
