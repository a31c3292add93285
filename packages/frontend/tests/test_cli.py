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


def test_the_demo_refuses_an_unknown_backend_before_it_begins(capsys) -> None:
    with pytest.raises(SystemExit):
        cli.main(["demo", "--backend", "indctor"])
    assert "backend 'indctor' is not known, did you mean 'inductor'" in capsys.readouterr().err


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
SIZE = 3

class Net(torch.nn.Module):
    def forward(self, x):
        return x + 1
"""


@pytest.mark.parametrize(
    ("target", "arguments"),
    [
        ("double", "torch.ones(2), times=2"),
        ("double", "torch.ones(SIZE), 2"),
        ("double", "*[torch.ones(size) for size in (SIZE,)], **{'times': 2}"),
        ("double", "x=torch.ones(2), times=2  # twice"),
        ("double", "net.weight, 2"),
        ("net", "torch.ones(SIZE)"),
        ("Net.forward", "Net(), torch.ones(2)"),
    ],
)
def test_explain_reads_the_arguments_of_a_call(target, arguments, tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "called.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["explain", f"called:{target}", "-a", arguments]) == 0
    assert capsys.readouterr().out.startswith("1 graph with 1 operator")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["needing:double"],
            'double(x, times) needs arguments; pass for example --arguments "torch.ones(3), times=2"',
        ),
        (["needing:net"], "net(input) needs arguments; pass for example --arguments"),
        (
            ["needing:double", "-a", "torch.ones(2)"],
            "double(x, times) cannot be called with (torch.ones(2)): missing a required argument: 'times'",
        ),
        (
            ["needing:Net.forward", "-a", "torch.ones(2)"],
            "Net.forward(self, x) cannot be called with (torch.ones(2)): missing a required argument: 'x'",
        ),
        (
            ["needing:Net", "-a", ""],
            "error: explain() got <class 'needing.Net'>, a type, whose call makes an instance; pass an instance",
        ),
        (
            ["needing:Net", "-a", "torch.ones(2)"],
            "error: explain() got <class 'needing.Net'>, a type, whose call makes an instance; pass an instance",
        ),
        (["needing:double", "-a", "torch.one(2)"], "cannot be read: AttributeError: "),
        (["needing:double", "-a", "torch.ones("], "cannot be read: SyntaxError: "),
        (["needing:double", "-a", "1), print(2"], "cannot be read: SyntaxError: a bracket is closed"),
        (["needing:double", "-a", "nte"], "cannot be read: NameError: name 'nte' is not defined"),
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
