"""Pages made from the tables: `docs/where-is.md` and `docs/breaks/README.md`. `python -m tools.pages` writes them.

They hold files, not lines, so that they change only when something moves; `framesmith where` knows the lines.
"""

from collections.abc import Iterable
from pathlib import Path

from framesmith.frontend import where
from framesmith.graph.breaks import all_kinds

ROOT = Path(__file__).resolve().parents[1]
SHOWN = 12
INTRODUCTION = """# Where is it handled?

Made by `python -m tools.pages` from the tables themselves. For the line: `framesmith where list.append`.
"""
BREAKS = """# Graph breaks

Made by `python -m tools.pages` from `framesmith.graph.break_kinds`. Logs, `explain` and errors under `fullgraph=True` name the same ids.
"""


def shorten(path: str) -> str:
    """A path from the packages folder on, or from the name of the layer on where the package is installed."""
    layer = path.replace("\\", "/").rpartition("/framesmith/")[2]
    return f"packages/{layer.partition('/')[0]}/src/framesmith/{layer}"


def section(title: str, places: Iterable[where.Place]) -> str:
    """A table of files, each with the first names that it handles."""
    files: dict[str, list[str]] = {}
    for place in places:
        files.setdefault(shorten(place.path), []).append(f"`{place.name}`")
    rows = []
    for path, names in sorted(files.items()):
        chosen = sorted(set(names))
        rows.append(
            f"| [{path.partition('/src/framesmith/')[2]}](../{path}) | {', '.join(chosen[:SHOWN])}{', ...' * (len(chosen) > SHOWN)} |"
        )
    return "\n".join((f"\n## {title}\n", "| file | names |", "| --- | --- |", *rows, ""))


def where_is() -> str:
    """The page of files and names."""
    guards = tuple(where.guard_places())
    return INTRODUCTION + "".join(
        (
            section("What a user calls", where.callable_places()),
            section("Operations of the bytecode", where.operation_places()),
            section(
                "What a guard claims: made, checked and explained",
                (one for one in guards if "claim" in one.family),
            ),
            section("Where a guarded value came from", (one for one in guards if "claim" not in one.family)),
        )
    )


def breaks() -> str:
    """The page of graph breaks."""
    parts = [
        f"\n## {kind.id}\n\n**{kind.title}**\n\nWhy: {kind.explanation}\n\nWhat to do: {kind.remedy}\n"
        for kind in sorted(all_kinds(), key=lambda kind: kind.id)
    ]
    return BREAKS + "".join(parts)


PAGES = {"docs/where-is.md": where_is, "docs/breaks/README.md": breaks}


def write() -> None:
    """Write every page."""
    for name, make in PAGES.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    write()
