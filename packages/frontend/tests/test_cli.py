"""The command line: it needs the standard library only; the demo says how to get what it needs."""

import subprocess
import sys

import pytest

from framesmith.frontend import __main__ as as_module
from framesmith.frontend import cli

MISSING = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("rich", "typer", "transformers"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from framesmith.frontend import cli
sys.exit(cli.main(sys.argv[1:]))
"""


def without_extra(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MISSING, *arguments], capture_output=True, text=True, timeout=300
    )


def test_the_package_runs_as_a_module() -> None:
    assert as_module.cli is cli
    called = [sys.executable, "-m", "framesmith.frontend", "where", "list.append"]
    done = subprocess.run(called, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "list_methods.py" in done.stdout, done.stderr


def test_without_the_extra_the_demo_says_how_to_install_it() -> None:
    done = without_extra("demo")
    assert done.returncode == 2, done.stderr
    assert 'pip install "framesmith-frontend[demo]"' in done.stderr and "Traceback" not in done.stderr


def test_without_the_extra_the_other_commands_work() -> None:
    done = without_extra("version")
    assert done.returncode == 0 and "torch" in done.stdout, done.stderr
    done = without_extra("where", "recompile", "limit")
    assert done.returncode == 0 and "limit_text" in done.stdout, done.stderr


def test_explain_prints_what_is_captured(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "given_program.py").write_text("def double(x):\n    return x * 2\n")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["explain", "given_program:double", "-a", "torch.ones(2)"]) == 0
    assert capsys.readouterr().out.startswith("1 graph with 1 operator")


PROGRAM = """
import torch

def double(x, times):
    return x * times

net = torch.nn.Linear(3, 2)
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["needing:double"], 'double needs arguments: pass --arguments "torch.ones(3), 2"'),
        (["needing:net"], "net needs arguments: pass --arguments"),
        (["needing:double", "-a", "torch.ones(2)"], "was given others: missing a required argument: 'times'"),
        (["needing:double", "-a", "torch.one(2)"], "cannot be read: AttributeError: "),
        (["needing:double", "-a", "torch.ones("], "cannot be read: SyntaxError: "),
    ],
)
def test_explain_says_which_arguments_it_needs(arguments, said, tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "needing.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        cli.main(["explain", *arguments])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", "nothing"], "not of the form module:function"),
        (["explain", "math:nothing"], "has no attribute 'nothing'"),
        (["explain", "math:pi"], "cannot be called"),
        (["nothing"], "invalid choice"),
    ],
)
def test_a_wrong_use_is_said(arguments, said, capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)
    assert said in capsys.readouterr().err


def test_an_unknown_case_of_the_demo_is_said(capsys) -> None:
    assert cli.main(["demo", "--only", "nothing"]) == 2
    assert "there are:" in capsys.readouterr().out


def test_the_distribution_needs_no_library_of_the_command_line() -> None:
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert not any(line.startswith(("rich", "typer")) for line in project["dependencies"])
    assert any(line.startswith("rich") for line in project["optional-dependencies"]["demo"])
    assert [*project["optional-dependencies"]] == ["demo"]
    assert "translator" not in project["description"] and "export" not in project["description"]
