"""The tools of the workspace: which Pythons run what, the sessions of nox, and the check of the README's examples."""

import sys
from pathlib import Path

import dev
import pytest
from tools import interpreters, readme

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
    assert alone.rows == {"3.12": "/b"} and alone.ends == ("3.12", "3.12") and alone.part("3.12") is None
    assert "NOT TESTED: Python 3.11 with torch 2.13, Python 3.13 with torch 2.15" in alone.warning


def test_the_versions_between_run_a_third_each_and_all_together() -> None:
    between = interpreters.plan(ALL)
    files = [Path(f"test_{letter}.py") for letter in "hgfedcba"]
    parts = {version: interpreters.part_of(files, between.part(version)) for version in ALL}
    assert parts["3.11"] == parts["3.15"] == sorted(files)
    assert sorted(parts["3.12"] + parts["3.13"] + parts["3.14"]) == sorted(files)


def test_what_is_no_python_is_left_out() -> None:
    assert interpreters.describe("/no/such/python") is None


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (["test"], []),
        (["test", "-r"], ["-r"]),
        (["list"], ["--list"]),
        (["demo", "--quick"], ["--session", "demo", "--", "--quick"]),
    ],
)
def test_the_one_command_is_handed_to_nox(command, arguments) -> None:
    assert dev.nox_arguments(command[0], command[1:]) == arguments


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
