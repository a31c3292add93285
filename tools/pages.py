"""Pages made from the code: `docs/where-is.md`, `docs/config.md`, `docs/breaks/*.md`, `docs/architecture.svg`.

`python -m tools.pages` writes them.

They hold files, not lines, so that they change only when something moves; `framesmith where` knows the lines.
"""

import ast
import inspect
import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from framesmith.frontend.options import Config
from framesmith.frontend.signposts.definitions import definitions, is_page
from framesmith.frontend.signposts.tables import Signpost, signposts
from framesmith.frontend.signposts.topic import Topic
from framesmith.frontend.signposts.topics import TOPICS
from framesmith.graph.breaks.breaks import BreakKind, all_kinds
from tools.drawing import architecture

ROOT = Path(__file__).resolve().parents[1]
SHOWN = 6
UNREADABLE = re.compile(
    r"pybind11|<locals>|^framesmith\.|\b_cuda_"
)  # names that nobody looks up, or that only builds with CUDA have
INTRODUCTION = """# Where is it handled?

Made by `python -m tools.pages` from the tables themselves. For lines, and for what is not listed: `framesmith where list.append`,
`framesmith where recompile limit`.

## Questions

| question | where, in the order of what happens |
| --- | --- |
"""
SECTIONS = {
    "call": "What a user calls",
    "operation": "Operations of the bytecode",
    "guard": "What a guard claims: made, checked and explained",
    "source": "Where a guarded value came from",
    "wrapping": "How an existing value is wrapped, by its type",
}
BREAKS = """# Graph breaks

Made by `python -m tools.pages` from the rows of all kinds and the programs in `examples/breaks`, which the tests run. Most rows
stand in the catalogue, `framesmith.graph.breaks.break_kinds`; kinds of one feature are registered beside their code in `framesmith.variables`.
Logs, `explain` and errors under `fullgraph=True` name the same ids.

| id | what happens |
| --- | --- |
"""
CONFIG = """# Fields of `frontend.config`

Made by `python -m tools.pages` from `framesmith.frontend.options.Config`. They hold for the process: set one directly
(`frontend.config.raise_bugs = True`), or for a while with `frontend.config.patch(raise_bugs=True)`, a context manager and
a decorator. A field that `torch._dynamo.config` has under the same name follows it where that was changed and this was
not; what is read of this one is what was set here. What holds for one compiled function are arguments of `frontend.compile`.

| field | default | what it does |
| --- | --- | --- |
"""
UNREACHED = frozenset({"internal-error", "nondeterministic-trace", "uninitialized-parameter"})
"""No program has them each time it runs; a lazy module's first calls make no entry."""
EXAMPLES = ROOT / "examples" / "breaks"


def section(title: str, posts: Iterable[Signpost]) -> str:
    """A table of files, each with the first names that it handles."""
    files: dict[str, set[str]] = {}
    for post in posts:
        if not UNREADABLE.search(post.name):
            files.setdefault(post.file.replace("\\", "/"), set()).add(f"`{post.name}`")
    rows = []
    for path, names in sorted(files.items()):
        more = ", ..." * (len(names) > SHOWN)
        rows.append(f"| {link(path)} | {', '.join(sorted(names)[:SHOWN])}{more} |")
    return "\n".join((f"\n## {title}\n", "| file | names |", "| --- | --- |", *rows, ""))


def link(path: str) -> str:
    """A link from a page in docs to a file of a package, or to another page."""
    if path.startswith("docs/"):
        return f"[{path.removeprefix('docs/')}]({path.removeprefix('docs/')})"
    if is_page(path):
        return f"[{path}](../{path})"
    layer = path.split("/")[1]
    return f"[{path.removeprefix('framesmith/')}](../packages/{layer}/src/{path})"


def question(topic: Topic) -> str:
    """The row of one question."""
    steps = []
    for what, name in topic.steps:
        if is_page(name):
            steps.append(f"{what}: {link(name)}")
        else:
            file, _ = definitions()[name][0]
            steps.append(f"{what}: `{name.rpartition('.')[2]}` in {link(file)}")
    return f"| {topic.title} | {'<br>'.join(steps)} |\n"


def where_is() -> str:
    """The page of questions, files and names."""
    posts = [post for post in signposts() if post.file.startswith("framesmith")]
    return (
        INTRODUCTION
        + "".join(map(question, TOPICS))
        + "".join(
            section(title, (post for post in posts if post.what.startswith(what)))
            for what, title in SECTIONS.items()
        )
    )


def config() -> str:
    """The list of all fields of the configuration, with the text below each."""
    (body,) = ast.parse(inspect.getsource(Config)).body
    assert isinstance(body, ast.ClassDef)
    rows = []
    for item, below in pairwise(body.body):
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            assert isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            default = (
                "from the environment"
                if isinstance(item.value, ast.Call)
                else f"`{ast.unparse(item.value or below)}`"
            )
            rows.append(f"| `{item.target.id}` | {default} | {' '.join(str(below.value.value).split())} |\n")
    return CONFIG + "".join(rows)


def breaks() -> str:
    """The list of all kinds of graph breaks."""
    return BREAKS + "".join(f"| [{kind.id}]({kind.id}.md) | {kind.title} |\n" for kind in kinds())


def kinds() -> list[BreakKind]:
    """All kinds, in the order of the ids."""
    return sorted(all_kinds(), key=lambda kind: kind.id)


def example_of(kind: BreakKind) -> Path:
    """The program that shows a kind of break."""
    return EXAMPLES / f"{kind.id.replace('-', '_')}.py"


def page_of(kind: BreakKind) -> str:
    """Cause, example and remedy of one kind."""
    program = example_of(kind).read_text(encoding="utf-8").partition('"""\n\n')[2]
    settings = " under `with frontend.config.patch(**OPTIONS):`" if "\nOPTIONS = " in program else ""
    explained = "frontend.compile(program, backend=BACKEND)" if "\nBACKEND = " in program else "program"
    reported = f"`frontend.explain({explained})(*ARGUMENTS)`{settings} reports it with its line.\n\n" * (
        kind.id not in UNREACHED
    )
    advice = " ".join(filter(None, (kind.reassurance, kind.remedy)))
    return (
        f"# {kind.id}: {kind.title}\n\n{kind.explanation}\n\n## Example\n\n```python\n{program}```\n\n"
        f"{reported}## What to do\n\n{advice}\n"
    )


def pages() -> dict[str, str]:
    """Every page, by its path."""
    found = {
        "docs/where-is.md": where_is(),
        "docs/config.md": config(),
        "docs/architecture.svg": architecture(),
        "docs/breaks/README.md": breaks(),
    }
    return found | {f"docs/breaks/{kind.id}.md": page_of(kind) for kind in kinds()}


def write() -> None:
    """Write every page, and take away pages of kinds that are gone."""
    made = pages()
    for path in (ROOT / "docs/breaks").glob("*.md"):
        if path.relative_to(ROOT).as_posix() not in made:
            path.unlink()
    for name, text in made.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
