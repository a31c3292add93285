"""Find the Pythons of this machine, and decide which rows of the support table can run.

Standard library only. Nothing is downloaded: an interpreter is on PATH, under pyenv, known to the
`py` launcher or known to uv, or it is not there.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SUPPORTED = {"3.11": "2.13", "3.12": "2.14", "3.13": "2.15", "3.14": "2.15", "3.15": "2.15"}
"""Each supported Python with the torch it is tested with end to end."""

ASK = (
    "import sys, sysconfig; print('.'.join(map(str, sys.version_info[:2])), sys.implementation.name, "
    "int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))), getattr(sys, '_base_executable', sys.executable))"
)


def output_of(*command: str) -> str:
    """What the command prints, or nothing when it is missing, fails or takes longer than 20 seconds."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def candidates() -> Iterator[str]:
    """Paths that may be a Python, best first: this one, PATH, pyenv, the `py` launcher, uv."""
    yield sys.executable
    for name in (*(f"python{version}" for version in SUPPORTED), "python3", "python"):
        if path := shutil.which(name):
            yield path
    roots = (os.environ.get("PYENV_ROOT", ""), output_of("pyenv", "root"), str(Path.home() / ".pyenv"))
    for root in dict.fromkeys(filter(None, roots)):
        for folder in sorted((Path(root) / "versions").glob("3.*"), reverse=True):
            yield from (
                str(path) for path in (folder / "bin" / "python", folder / "python.exe") if path.exists()
            )
    if launcher := shutil.which("py"):
        yield from (line.split()[-1] for line in output_of(launcher, "-0p").splitlines() if line.split())
    if uv := shutil.which(
        "uv", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    ):
        for version in SUPPORTED:
            if path := output_of(
                uv, "python", "find", "--no-project", "--offline", "--no-python-downloads", version
            ):
                yield path


def describe(path: str) -> tuple[str, str] | None:
    """(version, path of the base interpreter) of an ordinary CPython, None for anything else."""
    words = output_of(path, "-I", "-c", ASK).split(maxsplit=3)
    if len(words) != 4 or words[1] != "cpython" or words[2] != "0":
        return None
    return words[0], words[3]


def find() -> dict[str, str]:
    """Version -> path of the first interpreter found, for every CPython of 3.11 or newer."""
    found: dict[str, str] = {}
    for path in dict.fromkeys(candidates()):
        answer = describe(path)
        if answer and tuple(map(int, answer[0].split("."))) >= (3, 11):
            found.setdefault(*answer)
    return found


@dataclass(frozen=True, slots=True)
class Plan:
    """Which rows of the support table run: `rows` maps each version to its interpreter.

    A version that ought to be there and is not keeps its bare number as its interpreter, so that nox
    fails on it by name. `warning` is empty unless this machine has one Python only.
    """

    rows: dict[str, str]
    warning: str = ""

    @property
    def first(self) -> str:
        """The version on which everything that needs one Python only runs."""
        return next(iter(self.rows))


def plan(found: dict[str, str]) -> Plan:
    """Every row of the table, or, on a machine with a single Python, the row of that one, said aloud."""
    present = {version: found[version] for version in SUPPORTED if version in found}
    if len(found) == 1 and len(present) == 1:
        (only,) = present
        missing = ", ".join(
            f"Python {version} with torch {torch}" for version, torch in SUPPORTED.items() if version != only
        )
        return Plan(present, f"ONLY PYTHON {only} IS ON THIS MACHINE. NOT TESTED: {missing}.")
    return Plan({version: found.get(version, version) for version in SUPPORTED})
