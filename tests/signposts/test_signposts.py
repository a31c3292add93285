"""A newcomer finds things: `where` answers, and the pages in docs say what the tables say."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tools import pages

import framesmith
from framesmith.frontend import where

ANSWERS = [
    ("list.append", "variables/builtin_types/list"),
    ("len", "variables/callables/"),
    ("torch.add", "variables/torch_functions/"),
    ("BINARY_OP", "bytecode/operation_tables.py"),
    ("BINARY", "frontend/tracing/opcodes/operators.py"),
    ("LOAD_FAST", "frontend/tracing/opcodes/names.py"),
    ("CALL", "frontend/tracing/opcodes/calls.py"),
    ("TensorIs", "guards/kinds/tensor.py"),
    ("ShapeExpression", "guards/kinds/shapes.py"),
    ("TensorSize", "guards/sources/tensors.py"),
    ("native-call", "graph/breaks/break_kinds.py"),
]


@pytest.mark.parametrize(("name", "folder"), ANSWERS)
def test_where_leads_to_the_file(name, folder) -> None:
    assert any(f"framesmith/{folder}" in post.file for post in where.find(name))


@pytest.mark.parametrize(("name", "_"), ANSWERS)
def test_where_names_a_line_that_is_there(name, _) -> None:
    for post in where.find(name):
        if post.file.startswith("docs/"):
            assert (pages.ROOT / post.file).exists()
            continue
        files = [Path(root).parent / post.file for root in framesmith.__path__]
        assert any(0 < post.line <= len(file.read_text().splitlines()) for file in files if file.exists())


def test_where_prints_file_and_line(capsys) -> None:
    assert where.main(["list.append"]) == 0
    assert re.search(r"list_methods\.py:\d+", capsys.readouterr().out)


def test_an_unknown_name_is_said_to_be_unknown(capsys) -> None:
    assert where.main(["no.such.thing"]) == 1
    assert "no.such.thing" in capsys.readouterr().out


@pytest.mark.parametrize("name", pages.pages())
def test_every_file_that_a_page_names_is_there(name) -> None:
    page = pages.ROOT / name
    assert all((page.parent / link).exists() for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()))


WRITTEN = sorted(
    str(page.relative_to(pages.ROOT))
    for pattern in ("*.md", "docs/**/*.md", "packages/*/README.md")
    for page in pages.ROOT.glob(pattern)
)
PLACES = re.compile(r"`((?:packages|tests|docs|examples|tools|benchmarks)/[\w./-]+)`")


@pytest.mark.parametrize("name", WRITTEN)
def test_every_path_in_the_documents_is_there(name) -> None:
    text, folder = (pages.ROOT / name).read_text(encoding="utf-8"), (pages.ROOT / name).parent
    links = [folder / link for link in re.findall(r"\]\(([^)#:]+)\)", text)]
    places = [pages.ROOT / file_and_line for file_and_line in PLACES.findall(text)]
    assert [str(path) for path in (*links, *places) if not path.exists()] == []


def made_afresh() -> dict[str, str]:
    """The pages from untouched tables: other tests of this process may have added rows."""
    program = "import json, sys; from tools import pages; json.dump(pages.pages(), sys.stdout)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=pages.ROOT, capture_output=True, timeout=300, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_the_pages_say_what_the_tables_say() -> None:
    """Rows for torch follow its release: word for word on the first supported one, the same headings on the others."""
    made = made_afresh()
    written = {name: (pages.ROOT / name).read_text(encoding="utf-8") for name in made}
    if not torch.__version__.startswith("2.13."):
        written, made = (
            {name: "\n".join(re.findall(r"^#.*", text, re.MULTILINE)) for name, text in each.items()}
            for each in (written, made)
        )
    assert written == made, "the tables changed: run `python -m tools.pages`"


def test_the_tour_runs_through_all_five_layers() -> None:
    done = subprocess.run(
        [sys.executable, pages.ROOT / "docs" / "tour.py"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines() if re.match(r"\d\. ", line)] == [
        "1. bytecode",
        "2. guards",
        "3. graph",
        "4. variables",
        "5. frontend",
    ]


def names_used(path: Path) -> list[str]:
    """Every name and attribute that a module uses."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [getattr(node, "id", getattr(node, "attr", "")) for node in nodes]


def test_the_page_of_python_versions_names_each_file_that_asks() -> None:
    page = (pages.ROOT / "docs/adding/python-version.md").read_text(encoding="utf-8")
    asking = {
        path.relative_to(pages.ROOT).as_posix()
        for path in pages.ROOT.glob("packages/bytecode/src/**/*.py")
        if any(name in ("VERSION", "NUMBERS") for name in names_used(path))
    }
    assert asking and not {path for path in asking if path not in page}
