"""The one command of this repository: `python dev.py test`, `python dev.py demo`, or any nox session.

Needs Python 3.11 or newer, pip (or uv) and git. Keeps nox and uv in `.venv-tools` beside this file, then hands over to nox.
Standard library only.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
TOOLS = ROOT / ".venv-tools"
REQUIREMENTS = ("nox>=2025.5.1", "uv>=0.8")
USAGE = """usage: python dev.py test                  everything a change has to pass
       python dev.py demo [ARGUMENTS]      real models, compiled and compared with eager
       python dev.py SESSION [ARGUMENTS]   one nox session, e.g. lint, types, bench or "tests(graph-3.11)"
       python dev.py list                  all sessions
"""


def tools_python() -> Path:
    """The Python of `.venv-tools`, made on the first call and again when the requirements change."""
    python = TOOLS / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = TOOLS / "requirements.txt"
    wanted = "\n".join((*REQUIREMENTS, sys.version))
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"dev.py: installing {' and '.join(REQUIREMENTS)} into {TOOLS.name}", flush=True)
    venv.EnvBuilder(clear=True, with_pip=False, symlinks=os.name != "nt").create(TOOLS)
    subprocess.run([*install_command(python), "--quiet", *REQUIREMENTS], check=True)
    stamp.write_text(wanted)
    return python


def install_command(python: Path) -> tuple[str, ...]:
    """What installs packages for another Python: pip, or uv where this Python has no pip."""
    uv = shutil.which("uv")
    if importlib.util.find_spec("pip") is None and uv is not None:
        return (uv, "pip", "install", "--python", str(python))
    return (sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "install")


def nox_arguments(command: str, rest: list[str]) -> list[str]:
    """What nox is called with: `test` stands for its default sessions, `list` for its list."""
    if command == "test":
        return rest
    if command == "list":
        return ["--list", *rest]
    return ["--session", command, "--", *rest]


def main(arguments: list[str]) -> int:
    """Run one command; the exit status is nox's."""
    if sys.version_info < (3, 11):  # noqa: UP036  (started by hand, on whatever Python is there)
        found = ".".join(map(str, sys.version_info[:3]))
        print(f"dev.py: this is Python {found}; start it with Python 3.11 to 3.15", file=sys.stderr)
        return 2
    if not arguments or arguments[0] in {"-h", "--help"}:
        print(USAGE, end="")
        return 0 if arguments else 2
    try:
        python = tools_python()
    except subprocess.CalledProcessError as failure:
        print(
            f"dev.py: could not install nox and uv ({failure.cmd[0]} ended with {failure.returncode})",
            file=sys.stderr,
        )
        return 1
    # A session sees what it installs, not what the caller's shell points to.
    environment = {
        key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "VIRTUAL_ENV"}
    }
    environment["PATH"] = os.pathsep.join((str(python.parent), environment.get("PATH", "")))
    command = [str(python), "-m", "nox", "--noxfile", str(ROOT / "noxfile.py")]
    return subprocess.run([*command, *nox_arguments(arguments[0], arguments[1:])], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
