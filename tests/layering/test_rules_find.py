"""Each rule finds a bad snippet, and leaves a good one alone."""

from pathlib import Path

import pytest
from tools.layering import budget, classes, docs, imports, packages, sizes, tested, words
from tools.layering.sources import source

LONG_FUNCTION = "def f():\n" + "    x = 1\n" * 80
CHAIN = "if a == 0:\n    pass\n" + "".join(f"elif a == {i}:\n    pass\n" for i in range(1, 8))
CLASS = "class C:\n" + "".join(f"    def m{i}(self): ...\n" for i in range(21))

BAD = [
    (imports.inside_functions, "def f():\n    import os\n"),
    (imports.inside_functions, "class C:\n    def m(self):\n        from os import path\n"),
    (imports.inside_functions, "async def f():\n    if True:\n        import os\n"),
    (imports.inside_functions, "import importlib\nx = importlib.import_module('torch')\n"),
    (imports.inside_functions, "f = lambda: __import__('torch')\n"),
    (imports.relative, "from . import subgraph\n"),
    (imports.relative, "from ..guards import scope\n"),
    (imports.upward, "from framesmith.variables import core\n"),
    (imports.upward, "from framesmith import frontend\n"),
    (imports.upward, "import framesmith.bytecode.meaning\n"),
    (
        imports.upward,
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from framesmith.variables.core import x\n",
    ),
    (imports.dynamo, "import torch._dynamo\n"),
    (imports.dynamo, "import torch._dynamo.config as c\n"),
    (imports.dynamo, "from torch import _dynamo\n"),
    (imports.dynamo, "import torch\ntorch._dynamo.reset()\n"),
    (imports.version_questions, "import sys\nif sys.version_info >= (3, 12):\n    pass\n"),
    (imports.version_questions, "from sys import version_info\n"),
    (imports.third_party, "import numpy as np\n"),
    (imports.third_party, "from transformers import BertModel\n"),
    (classes.own_walks, "order = kind.__mro__\n"),
    (classes.own_walks, 'find = type.__dict__["__mro__"].__get__\n'),
    (sizes.long_files, '"""Doc."""\n' + "x = 1\n" * 500),
    (sizes.long_functions, LONG_FUNCTION),
    (sizes.long_chains, CHAIN),
    (docs.missing_docstrings, "x = 1\n"),
    (docs.missing_docstrings, '"""Doc."""\ndef f():\n    return 1\n'),
    (docs.missing_docstrings, '"""Doc."""\nclass C:\n    x = 1\n'),
    (docs.cut_first_lines, '"""It is cut in the\nmiddle."""\n'),
    (docs.cut_first_lines, '"""It goes on.\nHere."""\n'),
    (words.retired, "def find_landing():\n    pass\n"),
    (words.retired, "self.is_restless = True\n"),
    (words.retired, '"""What the trampoline does."""\n'),
    (words.retired, '"""What is specialised."""\n'),
    (words.retired, '"""Appends, stamping each."""\n'),
    (words.retired, '"""Two homes."""\n'),
    (words.retired, "def stamps():\n    pass\n"),
    (words.retired, "def unhashable():\n    pass\n"),
    (words.retired, "class _Pen:\n    pass\n"),
]

GOOD = [
    (imports.inside_functions, "import os\nfrom importlib.metadata import version\n"),
    (imports.relative, "from framesmith.graph import subgraph\n"),
    (
        imports.upward,
        "from framesmith.guards import scope\nfrom framesmith.graph.breaks.breaks import BreakKind\n",
    ),
    (imports.dynamo, "import sys\nd = sys.modules.get('torch._dynamo')\nimport torch\n"),
    (imports.version_questions, "import sys\nsys.exit(sys.maxsize)\n"),
    (imports.third_party, "import torch.fx\nimport sympy\nimport dis\n"),
    (classes.own_walks, "method = object.__dict__['__class__']\n"),
    (sizes.long_files, "x = 1\n" * 500),
    (sizes.long_functions, LONG_FUNCTION.removesuffix("    x = 1\n")),
    (sizes.long_chains, CHAIN.replace("elif a == 7:\n    pass\n", "else:\n    pass\n")),
    (docs.missing_docstrings, '"""Doc."""\ndef f():\n    """It is f."""\ndef _g():\n    return 1\n'),
    (docs.cut_first_lines, '"""Whole.\n\nThe rest,\nin two lines."""\n'),
    (words.retired, '"""A noise that rises, otherwise specialized, raised, realistic."""\n'),
    (words.retired, '"""Understanding."""\nx = understanding = 1\nlanding\n'),
    (words.retired, '"""What is compared, changed or wrong."""\nchanged = is_changed = 1\n'),
]


def name(value: object) -> str:
    """A short id for a rule or a snippet."""
    return getattr(value, "__name__", "")


@pytest.mark.parametrize(("rule", "text"), BAD, ids=name)
def test_the_rule_finds_one_problem(rule, text) -> None:
    assert len(rule(source(text, layer="graph"))) == 1


@pytest.mark.parametrize(("rule", "text"), GOOD, ids=name)
def test_the_rule_leaves_good_code_alone(rule, text) -> None:
    assert rule(source(text, layer="graph")) == []


def test_bytecode_may_ask_for_the_version_and_import_nothing_else() -> None:
    assert imports.version_questions(source("import sys\nsys.version_info\n", layer="bytecode")) == []
    assert imports.third_party(source("import torch\n", layer="bytecode"))


def test_an_extra_is_imported_in_its_own_folder_only() -> None:
    text = "import transformers\n"
    assert (
        imports.third_party(
            source(text, "frontend", "packages/frontend/src/framesmith/frontend/demo/models.py")
        )
        == []
    )
    assert imports.third_party(source(text, "frontend", "packages/frontend/src/framesmith/frontend/api.py"))


def test_a_late_import_needs_a_row_for_its_file_and_is_never_ours() -> None:
    text = "from importlib import import_module\ndef f(name):\n    import_module(name)\n"
    path = next(iter(imports.LATE))
    assert imports.inside_functions(source(text, path=path)) == []
    assert imports.inside_functions(source(text))
    assert imports.inside_functions(source(text.replace("(name)\n", "('framesmith.guards')\n"), path=path))


def test_a_problem_names_file_and_line() -> None:
    (problem,) = imports.relative(source("x = 1\nfrom . import y\n", path="a.py"))
    assert str(problem) == "a.py:2: a relative import; name the whole path, framesmith.<layer>.<module>"


def test_a_crowded_class_needs_a_reason() -> None:
    assert sizes.crowded_classes(source(CLASS, path="a.py"), {})
    assert sizes.crowded_classes(source(CLASS, path="a.py"), {"a.py::C": "slots of CPython"}) == []


USES = "from typing import Any\ndef f(x: Any) -> list[Any]:\n    return g(x)  # type: ignore[no-any-return]\n"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (budget.Row(), ["2 Any, budget 0", "1 ignore comments, budget 0"]),
        (budget.Row(2, 1, ""), ["no reason"]),
        (budget.Row(2, 1, "torch's own signature"), []),
        (budget.Row(3, 1, "torch's own signature"), ["lower the row"]),
    ],
)
def test_the_budget_is_a_ratchet(row, says) -> None:
    found = [problem.text for problem in budget.check(source(USES), row)]
    assert len(found) == len(says) and all(part in text for part, text in zip(says, found, strict=True))


def test_a_string_that_mentions_an_ignore_comment_is_no_ignore_comment() -> None:
    assert budget.count(source("x = '# type: ignore'\n")).ignores == 0


def test_a_reason_is_taken_from_the_comments_beside_it() -> None:
    text = "x = g()  # type: ignore[attr-defined]  # torch leaves it out\ny: Any = 1  # rows differ\nz: Any = 2\n"
    assert budget.written_reason(source(text)) == "torch leaves it out; rows differ"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package folder as it should be."""
    folder = tmp_path / "graph"
    for part in ("changelog", "tests", "src/framesmith/graph"):
        (folder / part).mkdir(parents=True)
    for part in ("README.md", "CHANGELOG.md", "LICENSE", "src/framesmith/graph/py.typed"):
        (folder / part).touch()
    (folder / "changelog" / "first.added.md").write_text("It exists.\n")
    (folder / "pyproject.toml").write_text(
        '[project]\ndependencies = ["framesmith-guards>=0.1,<0.2", "sympy>=1.13"]\n'
    )
    return folder


def test_a_complete_package_has_no_problem(package: Path) -> None:
    assert (
        packages.missing_parts(package) + packages.bad_fragments(package) + packages.bad_ranges(package) == []
    )


def test_a_package_without_types_or_with_a_namespace_file_is_found(package: Path) -> None:
    (package / "src/framesmith/graph/py.typed").unlink()
    (package / "src/framesmith/__init__.py").touch()
    assert len(packages.missing_parts(package)) == 2


@pytest.mark.parametrize(
    ("fragment", "text"), [("notes.md", "x"), ("Big Change.added.md", "x"), ("a.added.md", " \n")]
)
def test_a_bad_fragment_is_found(package: Path, fragment: str, text: str) -> None:
    (package / "changelog" / fragment).write_text(text)
    assert len(packages.bad_fragments(package)) == 1


def test_an_open_range_is_found(package: Path) -> None:
    (package / "pyproject.toml").write_text('[project]\ndependencies = ["framesmith-guards>=0.1", "torch"]\n')
    assert len(packages.bad_ranges(package)) == 2


@pytest.mark.parametrize(
    "text", ["/" + "root/x", "see /" + "home/me", "file:" + "///opt", "https://" + "pypi.org/simple"]
)
def test_a_machine_path_is_found(text: str) -> None:
    assert packages.machine_paths("a.py", text)


def test_only_what_a_person_wrote_is_read(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: the place of a worktree")
    for name in (".cache", ".ci"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run").write_text("x")
    (tmp_path / ".gitignore").write_text("x")
    assert [str(path.relative_to(tmp_path)) for path in packages.text_files(tmp_path)] == [
        ".ci/run",
        ".gitignore",
    ]


@pytest.mark.parametrize("text", ["a/root/b", "./work/x", "https://peps.python.org/pep-0523/", "pyenv root"])
def test_an_ordinary_path_is_left_alone(text: str) -> None:
    assert packages.machine_paths("a.py", text) == []


def test_a_module_that_no_test_imports_is_found() -> None:
    modules = [
        source("", path=f"packages/graph/src/framesmith/graph/{name}.py")
        for name in ("a", "b", "c", "__init__")
    ]
    tests = ["from framesmith.graph import a", "import framesmith.graph.b"]
    (found,) = tested.untested(modules, tests)
    assert "imports framesmith.graph.c" in found.text


def test_the_summary_of_long_files_counts_them_and_names_the_largest() -> None:
    lengths = {f"packages/a/src/framesmith/a/{name}.py": 151 + place for place, name in enumerate("bcdefgh")}
    files = [
        problem
        for path, lines in lengths.items()
        for problem in sizes.long_files(source("x = 1\n" * lines, path=path), sizes.FILE_AIM)
    ]
    assert sizes.name_largest(files, 9) == (
        "7 of 9 files over 150 lines, the largest: a/h.py (157), a/g.py (156), a/f.py (155), a/e.py (154), a/d.py (153)"
    )
