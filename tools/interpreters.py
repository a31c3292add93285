"""Find the Pythons of this machine, and decide which rows of the support table can run.

Standard library only. Nothing is downloaded: an interpreter is on PATH, under pyenv, known to the
`py` launcher or known to uv, or it is not there.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
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

    A version that is not there is left out, and `warning` names it. Where none is there, every version keeps its bare
    number as its interpreter, so that nox fails on it by name.
    """

    rows: dict[str, str]
    warning: str = ""

    @property
    def first(self) -> str:
        """The oldest: everything that needs one Python only runs on it."""
        return next(iter(self.rows))

    @property
    def ends(self) -> tuple[str, str]:
        """The oldest, on which all end-to-end tests run, and the newest."""
        return self.first, [*self.rows][-1]

    def part(self, version: str) -> slice:
        """Which of the end-to-end tests, in the order of their files, run on a version: all on the oldest, every second on the newest.

        Those between run the others, each every third of these, by its place in the table; so all run twice.
        """
        if version == self.first:
            return slice(None)
        if version == self.ends[1]:
            return slice(0, None, 2)
        return slice(2 * ([*SUPPORTED].index(version) % 3) + 1, None, 6)


def part_of(files: Sequence[Path], part: slice) -> list[Path]:
    """The files of a part, in the order of their names."""
    return sorted(files)[part]


def plan(found: dict[str, str]) -> Plan:
    """The rows of the table whose Python is there; the others are said aloud."""
    present = {version: found[version] for version in SUPPORTED if version in found}
    if not present:
        return Plan({version: version for version in SUPPORTED})
    missing = [
        f"Python {version} with torch {SUPPORTED[version]}" for version in SUPPORTED if version not in present
    ]
    return Plan(present, f"NOT ON THIS MACHINE, NOT TESTED: {', '.join(missing)}." if missing else "")
