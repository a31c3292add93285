"""What the READMEs promise: their code runs and prints what they say, and the commands and files they name are there."""

import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import dev
import pytest
from tests.end_to_end.children import in_child
from tools import pages, readme

from framesmith.frontend import cli

ROOT = pages.ROOT
LAYERS = ("bytecode", "guards", "graph", "variables", "frontend")
READMES = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "README.md", *ROOT.glob("packages/*/README.md"))
)
PAGES = [
    *READMES,
    "CONTRIBUTING.md",
    *sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/**/*.md")),
]
WITH_CODE = sorted(
    str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md") if readme.blocks(path.read_text())
)
SPAN = re.compile(r"^```(?:text|python)\n.*?^```|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", READMES)
def test_every_code_block_runs_and_prints_what_the_page_says(name, tmp_path, capsys) -> None:
    page = (ROOT / name).read_text()
    assert readme.blocks(page), f"{name} shows no code"
    assert readme.run(page, tmp_path) == 0, capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
@pytest.mark.parametrize("name", WITH_CODE)
def test_every_code_block_of_the_documents_runs(name, tmp_path) -> None:
    text = (ROOT / name).read_text()
    # a process can register an operator once, and another test may have; and none differentiates in a fork of one that has
    if "LIBRARY.define(" in text or '"aot_eager"' in text:
        page = tmp_path / "page.md"
        page.write_text(text)
        subprocess.run([sys.executable, "-m", "tools.readme", page], check=True, cwd=ROOT)
        return

    def run() -> None:
        assert readme.run(text, tmp_path) == 0

    in_child(run)  # some change what other tests rely on


def commands(page: str) -> list[list[str]]:
    """The command lines of a page: in spans of code, and in blocks without a language."""
    lines = [span for span in SPAN.findall(page) if span]
    for block in FENCED.findall(page):
        lines += block.splitlines()
    return [words for line in lines if (words := line.split("#")[0].split())]


@pytest.mark.parametrize("name", PAGES)
def test_every_command_that_a_page_names_is_there(name) -> None:
    text = (ROOT / "noxfile.py").read_text()
    sessions = set(re.findall(r"^def (\w+)\(session", text, re.MULTILINE))
    sessions |= set(re.findall(r'^@nox\.session\(name="(\w+)"', text, re.MULTILINE))
    for words in commands((ROOT / name).read_text()):
        if words[0] == "framesmith" and len(words) > 1:
            with pytest.raises(SystemExit) as shown:  # an unknown command ends with 2
                cli.make_parser().parse_args([words[1], "--help"])
            assert shown.value.code == 0, " ".join(words)
        if words[:2] == ["python", "dev.py"]:
            session = dev.name_of(words[2].strip('"'))
            assert session in sessions | {"test", "list"}, " ".join(words)


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_installs_is_there(name) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for words in commands((ROOT / name).read_text()):
        if words[:2] != ["pip", "install"]:
            continue
        groups = {after for word, after in pairwise(words) if word == "--group"}
        folders = {word.strip('"./').partition("[")[0] for word in words if "packages/" in word}
        assert groups <= {*project["dependency-groups"]}
        assert not folders or folders == {f"packages/{layer}" for layer in LAYERS}, " ".join(words)
        assert not groups or "torch~=" in words[-1]  # the newest may be one that is not supported


@pytest.mark.parametrize("name", PAGES)
def test_every_file_that_a_page_names_is_there(name) -> None:
    page = (ROOT / name).read_text()
    named = re.findall(r"\b(?:packages|tests|tools|docs|benchmarks|examples)/[\w/.-]+\w", page)
    missing = [
        path for path in named if not ((ROOT / path).exists() or (ROOT / name).parent.joinpath(path).exists())
    ]
    assert not missing, missing


FOLDER = re.compile(r"^(\w+)/ ", re.MULTILINE)


@pytest.mark.parametrize("name", [name for name in READMES if FOLDER.search((ROOT / name).read_text())])
def test_a_list_of_folders_is_complete(name) -> None:
    package = (ROOT / name).parent
    source = package / "src" / "framesmith" / package.name
    folders = {path.parent.name for path in source.glob("*/__init__.py")}
    assert sorted(FOLDER.findall((ROOT / name).read_text())) == sorted(folders)


def test_the_readme_of_variables_lists_its_folders() -> None:
    assert FOLDER.search((ROOT / "packages/variables/README.md").read_text())


def test_public_names_of_every_package_are_there() -> None:
    for layer in LAYERS:
        module = __import__(f"framesmith.{layer}", fromlist=["__all__"])
        assert module.__all__, layer
        assert not [name for name in module.__all__ if not hasattr(module, name)]
        assert Path(module.__file__).name == "__init__.py"


def test_uv_installs_where_this_python_has_no_pip(monkeypatch) -> None:
    monkeypatch.setattr(dev.importlib.util, "find_spec", lambda name: object())
    assert dev.install_command(Path("python"))[1:3] == ("-m", "pip")
    monkeypatch.setattr(dev.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(dev.shutil, "which", lambda name: "/bin/uv")
    assert dev.install_command(Path("python")) == ("/bin/uv", "pip", "install", "--python", "python")
    monkeypatch.setattr(dev.shutil, "which", lambda name: None)
    assert dev.install_command(Path("python"))[1:3] == ("-m", "pip")  # which says that it is missing
