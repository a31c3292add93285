"""Where functions, classes and methods of framesmith are defined, found in the sources by name: `GuardSet.add`.

Topics refer to code by these names, so that they hold when a file moves.
"""

import functools
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import framesmith.bytecode
import framesmith.frontend
import framesmith.graph
import framesmith.guards
import framesmith.variables

_LAYERS: Final = (
    framesmith.bytecode,
    framesmith.guards,
    framesmith.graph,
    framesmith.variables,
    framesmith.frontend,
)
_DEFINITION: Final = re.compile(
    r"^(?P<indent> {4})?(?:class|def) (?P<name>\w+)|^(?P<constant>[A-Z][A-Z_]*)\b.* = "
)

Place = tuple[str, int]
"""File, from `framesmith/` on, and line."""


def layers() -> Iterator[Path]:
    """The folder of each layer."""
    return (Path(str(layer.__file__)).parent for layer in _LAYERS)


@functools.cache
def definitions() -> Mapping[str, tuple[Place, ...]]:
    """The places of each name: `GuardSet`, `GuardSet.add`, and with the module in front `guard_set.GuardSet`."""
    found: dict[str, list[Place]] = {}
    for folder in layers():
        for path in sorted(folder.rglob("*.py")):
            for name, line in _in_file(path):
                found.setdefault(name, []).append((path_in_package(str(path)), line))
                found.setdefault(f"{path.stem}.{name}", []).append((path_in_package(str(path)), line))
    return {name: tuple(places) for name, places in found.items()}


def find_inside(name: str) -> list[Place]:
    """The places of a method that is named without its class, or of a module."""
    ending = f".{name}"
    found = [place for full, places in definitions().items() if full.endswith(ending) for place in places]
    modules = {
        file for places in definitions().values() for file, _ in places if file.endswith(f"/{name}.py")
    }
    return list(dict.fromkeys([*found, *((file, 1) for file in sorted(modules))]))


def _in_file(path: Path) -> Iterator[tuple[str, int]]:
    owner = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = _DEFINITION.match(line)
        if match is None:
            continue
        if match["constant"]:
            yield match["constant"], number
        elif match["indent"]:
            if owner:
                yield f"{owner}.{match['name']}", number
        else:
            owner = match["name"] if line.startswith("class ") else ""
            yield match["name"], number


def where_it_lies(file: str) -> str:
    """A path from `framesmith/` on as one opens it: from the root of the repository, or absolute where the packages lie in none.

    A page is there in the repository only. Any other path as it is.
    """
    if is_page(file):
        return file if checkout() is not None else f"in the repository: {file}"
    name, _, rest = file.replace(os.sep, "/").partition("/")
    layer, _, inside = rest.partition("/")
    folder = next((one for one in layers() if one.parts[-2:] == (name, layer)), None)
    if folder is None:
        return file
    if folder.parts[-5:-2] == ("packages", layer, "src"):
        return Path("packages", layer, "src", name, rest).as_posix()
    return str(folder / inside)


def is_page(name: str) -> bool:
    """Whether a step of a topic is a page or a script of the repository, not a name in the packages."""
    return name.endswith(".md") or name in ("dev.py", "noxfile.py")


def pages() -> list[Path]:
    """The decision records and the pages for users and maintainers; none where the packages lie in no checkout."""
    root = checkout()
    return [] if root is None else sorted((root / "docs").glob("*/*.md"))


def checkout() -> Path | None:
    """The root of the repository; None where the packages lie in no checkout."""
    frontend = next(folder for folder in layers() if folder.name == "frontend")
    return frontend.parents[4] if frontend.parts[-5:-2] == ("packages", "frontend", "src") else None


def path_in_package(file: str) -> str:
    """The path from `framesmith/` on."""
    return file[file.rfind(f"framesmith{os.sep}") :] if f"framesmith{os.sep}" in file else file
