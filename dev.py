"""The one command of this repository: `python dev.py test`, `python dev.py demo`, or any nox session.

Needs Python 3.11 or newer, pip (or uv) and git. Keeps nox and uv in `.venv-tools` beside this file, then hands over to nox.
Standard library only.
"""

import difflib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
TOOLS = ROOT / ".venv-tools"
REQUIREMENTS = ("nox>=2025.5.1", "uv>=0.8")
USAGE = """usage: python dev.py test                  everything a change has to pass; takes 35 to 45 minutes on two cores
       python dev.py demo [ARGUMENTS]      real models, compiled and compared with eager
       python dev.py tests [LAYER ...]     the tests of these packages, each alone; of all without a layer
       python dev.py types [LAYER ...]     mypy of these packages
       python dev.py SESSION [ARGUMENTS]   one session, e.g. lint, bench or "tests(graph-3.11)"
       python dev.py list                  all sessions
"""
OF_LAYERS = ("tests", "types")
"""The sessions whose arguments begin with layers."""


class UnknownSession(Exception):
    """There is no such session, or no such layer; the message says which there are."""


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


def nox_arguments(command: str, rest: Sequence[str], titles: Sequence[str]) -> list[str]:
    """What nox is called with: `test` stands for its default sessions, `tests LAYER` for those of the layer.

    `titles` are all sessions by their whole names, as `tests(graph-3.11)`. Raises UnknownSession.
    """
    if command == "test":
        return [*rest]
    names = list(dict.fromkeys(name_of(title) for title in titles))
    if command not in titles and command not in names:
        raise UnknownSession(write_unknown(command, titles, names))
    if command not in OF_LAYERS:
        return ["--session", command, "--", *rest]
    first = next((place for place, word in enumerate(rest) if not is_layer(word)), len(rest))
    chosen = sessions_of(rest[:first], [title for title in titles if name_of(title) == "tests"])
    if command == "types" or not first:
        return ["--session", command, "--", *rest]
    return ["--session", *chosen, "--", *rest[first:]]


def is_layer(word: str) -> bool:
    """Whether an argument is meant as a layer: it is neither an option nor a path."""
    return not word.startswith("-") and "/" not in word and os.sep not in word


def sessions_of(layers: Iterable[str], titles: Sequence[str]) -> list[str]:
    """The sessions of these layers, or of a layer on one Python (`bytecode-3.12`). Raises UnknownSession."""
    chosen: list[str] = []
    known = list(dict.fromkeys(layer_of(title) for title in titles))
    for layer in layers:
        found = [title for title in titles if layer in (layer_of(title), parameters_of(title))]
        if not found and layer.partition("-")[0] in known:
            raise UnknownSession(write_unknown(f"tests({layer})", titles, ["tests"]))
        if not found:
            raise UnknownSession(
                f"there is no layer {layer!r}; there are {', '.join(known)}{near(layer, known)}"
            )
        chosen += found
    return list(dict.fromkeys(chosen))


def write_unknown(command: str, titles: Sequence[str], names: Sequence[str]) -> str:
    """That there is no such session, and which there are: of the same layer, of the same name, or all."""
    alike = [title for title in titles if name_of(title) == name_of(command)]
    layer = layer_of(command)
    of_layer = [title for title in alike if layer_of(title) == layer]
    if of_layer and name_of(command) == "tests":
        pythons = ", ".join(parameters_of(title).removeprefix(f"{layer}-") for title in of_layer)
        return f"there is no session {command!r}; {layer} is tested alone on Python {pythons}{near(command, of_layer)}"
    there = alike or ["test", "list", *names]
    return f"there is no session {command!r}; there are {', '.join(there)}{near(command, there)}"


def near(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` when a known name is close."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def name_of(title: str) -> str:
    """`tests` of `tests(graph-3.11)`."""
    return title.partition("(")[0]


def parameters_of(title: str) -> str:
    """`graph-3.11` of `tests(graph-3.11)`; empty where there are none."""
    return title.partition("(")[2].removesuffix(")")


def layer_of(title: str) -> str:
    """`graph` of `tests(graph-3.11)`."""
    return parameters_of(title).partition("-")[0]


def list_text(sessions: Sequence[Mapping[str, str]]) -> str:
    """All that can be run, by the words to type; a session with parameters is one row, and they stand below it."""
    rows = {"test": "Everything a change has to pass.", "list": "This list."}
    rows |= {session["name"]: session["description"] for session in sessions}
    width = max(map(len, rows))
    lines = []
    for name, description in rows.items():
        lines.append(f"python dev.py {name:<{width}}  {description}")
        titles = [session["session"] for session in sessions if session["name"] == name]
        if parameters := [parameters_of(title) for title in titles if parameters_of(title)]:
            lines.append(f'    one alone: python dev.py "{titles[0]}"; there are {", ".join(parameters)}')
    return "\n".join(lines)


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
    titles: list[str] = []
    if arguments[0] != "test":
        # all of them: without the expression, nox names those of `test` only
        listed = subprocess.run(
            [*command, "--list", "--json", "-k", "True"], env=environment, stdout=subprocess.PIPE, text=True
        )
        if listed.returncode:
            return listed.returncode
        sessions = json.loads(listed.stdout)
        titles = [session["session"] for session in sessions]
        if arguments[0] == "list":
            print(list_text(sessions))
            return 0
    try:
        wanted = nox_arguments(arguments[0], arguments[1:], titles)
    except UnknownSession as unknown:
        print(f"dev.py: {unknown}", file=sys.stderr)
        return 2
    return subprocess.run([*command, *wanted], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
