"""`docs/architecture.svg`: the layers, their subpackages and which subpackage imports which, drawn from the imports themselves."""

import ast
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from tools.layering.sources import MAY_IMPORT, Source, everything

WIDTH, MARGIN, GAP = 1180, 20, 16
BOX_HEIGHT, ROW_HEIGHT, TITLE_HEIGHT = 46, 78, 30
FRONT, SHARED, BETWEEN = "front door", "shared", "between"
Subpackage: TypeAlias = tuple[str, str]
Path: TypeAlias = tuple[str, ...]
STYLE = """<style>
text { font-family: sans-serif; font-size: 13px; fill: #1b2733; }
.title { font-size: 16px; font-weight: bold; }
.small { font-size: 11px; fill: #5a6b7b; }
.layer { fill: #f3f6f9; stroke: #c3ced9; }
.subpackage { fill: #ffffff; stroke: #4a7ba6; }
line { stroke: #4a7ba6; stroke-width: 1; opacity: 0.45; }
</style>"""


@dataclass(frozen=True, slots=True)
class Box:
    """A subpackage where it is drawn, in pixels from the upper left corner."""

    name: str
    x: float
    y: float
    width: float
    modules: int


def path_of(one: Source) -> Path:
    """The dotted path behind `framesmith`; a package's own file counts as a module of it."""
    parts = one.path.split("/framesmith/")[1].removesuffix(".py").split("/")
    return tuple(parts) if len(parts) > 1 else (*parts, "__init__")


def imports_of(one: Source, known: Collection[Path]) -> Iterator[Path]:
    """Which of the known modules a module imports, at its top or in a `with` there."""
    inside = (node.body if isinstance(node, ast.With) else [node] for node in one.tree.body)
    for node in chain.from_iterable(inside):
        if isinstance(node, ast.Import):
            paths = [
                tuple(alias.name.split(".")[1:])
                for alias in node.names
                if alias.name.startswith("framesmith.")
            ]
            yield from (path for path in paths if path in known)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("framesmith."):
            base = node.module.split(".")[1:]
            for alias in node.names:
                tries = (
                    (*base, alias.name),
                    (*base, alias.name, "__init__"),
                    (*base, "__init__"),
                    tuple(base),
                )
                yield next(path for path in tries if path in known)


def subpackages() -> tuple[Counter[Subpackage], set[tuple[Subpackage, Subpackage]]]:
    """How many modules each subpackage has, and who imports whom inside of a layer."""
    modules = {path_of(one): one for one in everything()}
    imports = {
        path: {there for there in imports_of(one, modules) if there[0] == path[0]}
        for path, one in modules.items()
    }
    places = {path: (path[0], path[1] if len(path) > 2 else _flat(path, imports)) for path in modules}
    for layer in MAY_IMPORT:
        between = sorted(path for path, place in places.items() if place == (layer, BETWEEN))
        places |= dict.fromkeys(between, (layer, ", ".join(path[1] for path in between)))
    arrows = {(places[path], places[there]) for path, found in imports.items() for there in found}
    return Counter(places.values()), {(here, there) for here, there in arrows if here != there}


def _flat(path: Path, imports: dict[Path, set[Path]]) -> str:
    """The place of a module that is in no subpackage: above the subpackages, below them, or between two of them."""
    above = _reaches(path, imports)
    users = {one for one, found in imports.items() if path in found}
    below = any(len(one) > 2 for one in users | {other for one in users for other in _users(one, imports)})
    return SHARED if not above else BETWEEN if below else FRONT


def _reaches(path: Path, imports: dict[Path, set[Path]]) -> bool:
    """Whether a module imports one in a subpackage, be it through others."""
    seen, todo = {path}, [path]
    while todo:
        for there in imports[todo.pop()] - seen:
            if len(there) > 2:
                return True
            seen.add(there)
            todo.append(there)
    return False


def _users(path: Path, imports: dict[Path, set[Path]]) -> set[Path]:
    """Who imports a module, be it through modules that are in no subpackage."""
    seen, todo = set[Path](), [path]
    while todo:
        one = todo.pop()
        found = {other for other, there in imports.items() if one in there} - seen
        seen |= found
        todo += [other for other in found if len(other) == 2]
    return seen


def rows_of(names: list[str], arrows: set[tuple[str, str]]) -> list[list[str]]:
    """The subpackages of a layer in rows, each above all that it imports; subpackages that import each other share a row."""
    depth = dict.fromkeys(names, 0)
    for _ in names:
        for here, there in sorted(arrows):
            if (there, here) not in arrows:
                depth[here] = max(depth[here], depth[there] + 1)
    depth = {name: min(level, len(names)) for name, level in depth.items()}
    return [
        sorted(n for n in names if depth[n] == level) for level in sorted({*depth.values()}, reverse=True)
    ]


def layer_boxes(
    layer: str, top: float, sizes: Counter[Subpackage], arrows: set[tuple[str, str]]
) -> list[Box]:
    """The boxes of one layer, from its upper edge on."""
    found = []
    for number, row in enumerate(
        rows_of(sorted(subpackage for one, subpackage in sizes if one == layer), arrows)
    ):
        width = (WIDTH - 4 * MARGIN - GAP * (len(row) - 1)) / len(row)
        width = min(width, 260)
        left = (WIDTH - width * len(row) - GAP * (len(row) - 1)) / 2
        for position, name in enumerate(row):
            x, y = left + position * (width + GAP), top + TITLE_HEIGHT + number * ROW_HEIGHT
            found.append(Box(name, x, y, width, sizes[layer, name]))
    return found


def architecture() -> str:
    """The picture as SVG."""
    sizes, arrows = subpackages()
    parts, top = [], float(MARGIN)
    for layer in reversed(MAY_IMPORT):
        own = {(here[1], there[1]) for here, there in arrows if here[0] == layer}
        boxes = {box.name: box for box in layer_boxes(layer, top, sizes, own)}
        height = max(box.y for box in boxes.values()) + BOX_HEIGHT + MARGIN - top
        parts.append(
            f'<rect class="layer" x="{MARGIN}" y="{top:.0f}" width="{WIDTH - 2 * MARGIN}" height="{height:.0f}" rx="8"/>'
        )
        parts.append(f'<text class="title" x="{2 * MARGIN}" y="{top + 21:.0f}">{layer}</text>')
        parts += [_arrow(boxes[here], boxes[there]) for here, there in sorted(own)]
        parts += [_drawn(box) for box in boxes.values()]
        top += height + MARGIN
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top:.0f}" role="img">\n{STYLE}\n{body}\n</svg>\n'


def _arrow(start: Box, end: Box) -> str:
    middle = start.x + start.width / 2, end.x + end.width / 2
    return (
        f'<line x1="{middle[0]:.0f}" y1="{start.y + BOX_HEIGHT:.0f}" x2="{middle[1]:.0f}" y2="{end.y:.0f}"/>'
        if start.y < end.y
        else f'<line x1="{middle[0]:.0f}" y1="{start.y + BOX_HEIGHT / 2:.0f}" x2="{middle[1]:.0f}" y2="{end.y + BOX_HEIGHT / 2:.0f}"/>'
    )


def _drawn(box: Box) -> str:
    middle = box.x + box.width / 2
    return (
        f'<rect class="subpackage" x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" height="{BOX_HEIGHT}" rx="6"/>'
        f'<text x="{middle:.0f}" y="{box.y + 20:.0f}" text-anchor="middle">{box.name}</text>'
        f'<text class="small" x="{middle:.0f}" y="{box.y + 36:.0f}" text-anchor="middle">{box.modules} module{"s" * (box.modules > 1)}</text>'
    )
