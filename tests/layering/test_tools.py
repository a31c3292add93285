"""The tools of the workspace: which Pythons run what, the sessions of nox, and the check of the README's examples."""

import itertools
import re
import sys
from pathlib import Path

import dev
import pytest
from tools import interpreters, readme

TITLES = ["lint", "types", "tests(bytecode-3.11)", "tests(bytecode-3.12)", "tests(graph-3.11)", "demo"]
ALL = {"3.11": "/a", "3.12": "/b", "3.13": "/c", "3.14": "/d", "3.15": "/e"}


def test_this_python_is_found() -> None:
    version = ".".join(map(str, sys.version_info[:2]))
    assert interpreters.describe(interpreters.find()[version])[0] == version


def test_all_rows_run_where_all_pythons_are() -> None:
    assert interpreters.plan({**ALL, "3.16": "/f"}) == interpreters.Plan(ALL)


def test_a_missing_python_is_said_aloud() -> None:
    partial = interpreters.plan({"3.11": "/a", "3.13": "/c", "3.15": "/e"})
    assert partial.rows == {"3.11": "/a", "3.13": "/c", "3.15": "/e"}
    assert partial.warning.endswith("NOT TESTED: Python 3.12 with torch 2.14, Python 3.14 with torch 2.15.")


def test_a_python_too_new_does_not_count() -> None:
    assert interpreters.plan({"3.16": "/f"}).rows == {version: version for version in ALL}


def test_a_single_python_runs_all_and_says_so() -> None:
    alone = interpreters.plan({"3.12": "/b"})
    assert (
        alone.rows == {"3.12": "/b"} and alone.ends == ("3.12", "3.12") and alone.part("3.12") == slice(None)
    )
    assert "NOT TESTED: Python 3.11 with torch 2.13, Python 3.13 with torch 2.15" in alone.warning


def test_the_oldest_runs_all_and_the_others_all_together() -> None:
    between = interpreters.plan(ALL)
    files = [Path(f"test_{letter}.py") for letter in "hgfedcba"]
    parts = {version: interpreters.part_of(files, between.part(version)) for version in ALL}
    assert parts.pop("3.11") == sorted(files)
    assert len(parts["3.15"]) == 4
    assert sorted(itertools.chain.from_iterable(parts.values())) == sorted(files)


def test_what_is_no_python_is_left_out() -> None:
    assert interpreters.describe("/no/such/python") is None


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (["test"], []),
        (["test", "-r"], ["-r"]),
        (["demo", "--quick"], ["--session", "demo", "--", "--quick"]),
        (["tests"], ["--session", "tests", "--"]),
        (["tests(graph-3.11)", "-x"], ["--session", "tests(graph-3.11)", "--", "-x"]),
        (["tests", "graph"], ["--session", "tests(graph-3.11)", "--"]),
        (["tests", "bytecode-3.12"], ["--session", "tests(bytecode-3.12)", "--"]),
        (
            ["tests", "bytecode", "graph", "-k", "name"],
            [
                "--session",
                *("tests(bytecode-3.11)", "tests(bytecode-3.12)", "tests(graph-3.11)"),
                *("--", "-k", "name"),
            ],
        ),
        (
            ["tests", "graph", "packages/graph/tests/test_text.py"],
            ["--session", "tests(graph-3.11)", "--", "packages/graph/tests/test_text.py"],
        ),
        (["types", "graph"], ["--session", "types", "--", "graph"]),
    ],
)
def test_the_one_command_is_handed_to_nox(command, arguments) -> None:
    assert dev.nox_arguments(command[0], command[1:], TITLES) == arguments


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ["tets"],
            "there is no session 'tets'; there are test, list, lint, types, tests, demo; did you mean 'tests'?",
        ),
        (
            ["tests(graph-3.12)"],
            "there is no session 'tests(graph-3.12)'; graph is tested alone on Python 3.11; did you mean 'tests(graph-3.11)'?",
        ),
        (["tests", "graph-3.12"], "graph is tested alone on Python 3.11; did you mean 'tests(graph-3.11)'?"),
        (["tests", "bytecode-3.15"], "bytecode is tested alone on Python 3.11, 3.12; did you mean"),
        (["tests", "grahp"], "there is no layer 'grahp'; there are bytecode, graph; did you mean 'graph'?"),
        (["types", "grahp"], "there is no layer 'grahp'; there are bytecode, graph; did you mean 'graph'?"),
        (["tests", "wheels"], "there is no layer 'wheels'; there are bytecode, graph"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(command, said) -> None:
    with pytest.raises(dev.UnknownSession, match=re.escape(said)) as raised:
        dev.nox_arguments(command[0], command[1:], TITLES)
    assert "\n" not in str(raised.value)


def test_the_list_names_what_one_types() -> None:
    tests = [
        {"name": "tests", "session": f"tests(bytecode-{version})", "description": "Alone."}
        for version in ("3.11", "3.12")
    ]
    sessions = [{"name": "lint", "session": "lint", "description": "ruff."}, *tests]
    assert dev.list_text(sessions).splitlines() == [
        "python dev.py test   Everything a change has to pass.",
        "python dev.py list   This list.",
        "python dev.py lint   ruff.",
        "python dev.py tests  Alone.",
        '    one alone: python dev.py "tests(bytecode-3.11)"; there are bytecode-3.11, bytecode-3.12',
    ]


def test_no_session_is_called_in_another_way() -> None:
    root = Path(dev.__file__).parent
    files = [
        root / "noxfile.py",
        *(root / "tests").rglob("*.py"),
        *root.glob("*.md"),
        *root.glob("docs/**/*.md"),
    ]
    found = [str(file) for file in files if re.search(r"`(nox -[se]|--) ", file.read_text())]
    assert not found


PAGE = """
```python
print("one", 2)
```

prints

```text
free text
```

```python
x = [1, 2]
print(x)
```
```text
[1, ...]
```
"""


def test_a_block_is_compared_with_the_text_that_follows_at_once() -> None:
    assert readme.blocks(PAGE) == [('print("one", 2)\n', None), ("x = [1, 2]\nprint(x)\n", "[1, ...]\n")]


def test_a_page_that_tells_the_truth_passes(tmp_path) -> None:
    assert readme.run(PAGE, tmp_path) == 0


def test_a_page_that_lies_is_found(tmp_path, capsys) -> None:
    assert readme.run(PAGE.replace("[1, ...]", "[2]"), tmp_path) == 1
    assert "block 2 prints something else" in capsys.readouterr().err
