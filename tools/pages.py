"""Pages made from the tables: `docs/where-is.md` and `docs/breaks/README.md`. `python -m tools.pages` writes them.

They hold files, not lines, so that they change only when something moves; `framesmith where` knows the lines.
"""

from collections.abc import Iterable
from pathlib import Path

from framesmith.frontend.where import Signpost, signposts
from framesmith.graph.breaks import all_kinds

ROOT = Path(__file__).resolve().parents[1]
SHOWN = 12
INTRODUCTION = """# Where is it handled?

Made by `python -m tools.pages` from the tables themselves. For the line: `framesmith where list.append`.
"""
SECTIONS = {
    "call": "What a user calls",
    "operation": "Operations of the bytecode",
    "guard": "What a guard claims: made, checked and explained",
    "source": "Where a guarded value came from",
    "wrapping": "How an existing value is wrapped, by its type",
}
BREAKS = """# Graph breaks

Made by `python -m tools.pages` from `framesmith.graph.break_kinds`. Logs, `explain` and errors under `fullgraph=True` name the same ids.
"""


def section(title: str, posts: Iterable[Signpost]) -> str:
    """A table of files, each with the first names that it handles."""
    files: dict[str, set[str]] = {}
    for post in posts:
        files.setdefault(post.file.replace("\\", "/"), set()).add(f"`{post.name}`")
    rows = []
    for path, names in sorted(files.items()):
        layer = path.split("/")[1]
        more = ", ..." * (len(names) > SHOWN)
        link = f"[{path.removeprefix('framesmith/')}](../packages/{layer}/src/{path})"
        rows.append(f"| {link} | {', '.join(sorted(names)[:SHOWN])}{more} |")
    return "\n".join((f"\n## {title}\n", "| file | names |", "| --- | --- |", *rows, ""))


def where_is() -> str:
    """The page of files and names."""
    posts = [post for post in signposts() if post.file.startswith("framesmith")]
    return INTRODUCTION + "".join(
        section(title, (post for post in posts if post.what.startswith(what)))
        for what, title in SECTIONS.items()
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
