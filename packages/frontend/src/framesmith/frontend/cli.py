"""The command line: `framesmith demo`, `version`, `where` and `explain`. Each command calls the module that does it.

Standard library only. What the demo needs besides (rich, transformers) comes with the extra `demo`. What `where`
answers is in `signposts`.
"""

import argparse
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version

import torch

from framesmith import frontend
from framesmith.frontend import where as signposts

LAYERS = ("bytecode", "guards", "graph", "variables", "frontend")
DEMO = "framesmith.frontend.demo.command"
"""Imported by the command `demo` only, since it needs the extra."""


EXAMPLE = 'pass --arguments "torch.ones(3), 2"'


class WrongUse(Exception):
    """An argument that a command cannot use; the message says what is expected."""


def demo(only: Sequence[str] = (), backend: str | None = None, *, measure: bool = True) -> int:
    """Compile real models, compare with eager, show a table; 1 on any difference, 2 where it cannot run."""
    try:
        command = importlib.import_module(DEMO)
    except ModuleNotFoundError as missing:
        if str(missing.name).partition(".")[0] not in ("rich", "transformers"):
            raise
        print(
            f"framesmith demo needs {missing.name}, which is not installed; install the extra with\n"
            '  pip install "framesmith-frontend[demo]"',
            file=sys.stderr,
        )
        return 2
    status: int = command.run_demo(tuple(only), backend, measure)
    return status


def show_version() -> int:
    """Versions of the five packages, of torch and of Python."""
    rows = [(f"framesmith-{layer}", find_version(f"framesmith-{layer}")) for layer in LAYERS]
    rows += [("torch", torch.__version__), ("Python", sys.version.split()[0])]
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:<{width}}  {found}" for name, found in rows))
    return 0


def find_version(distribution: str) -> str:
    """The version of a distribution."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed (found on the path)"


def resolve(target: str) -> object:
    """The object that `module:function` names; dots after the colon go through attributes. Raises WrongUse."""
    module, colon, path = target.partition(":")
    if not colon or not path:
        raise WrongUse(f"{target!r} is not of the form module:function")
    # where `python -m` looks first, and an installed command does not
    sys.path.insert(0, os.getcwd())
    try:
        found: object = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as failure:
        raise WrongUse(str(failure)) from failure
    return found


def explain(target: str, arguments: str = "") -> int:
    """Trace a function with the given arguments, and print its graphs, breaks and guards."""
    function = resolve(target)
    if not callable(function):
        raise WrongUse(f"{target!r} cannot be called: it is {function!r}")
    values = read_arguments(arguments)
    check_arguments(target, function, values)
    print(frontend.explain(function)(*values))
    return 0


def read_arguments(text: str) -> tuple[object, ...]:
    """The values that the option `--arguments` gives: `torch.ones(3), 2`. Raises WrongUse."""
    try:
        found: tuple[object, ...] = eval(f"({text},)" if text.strip() else "()", {"torch": torch})
    except Exception as failure:
        said = f"{type(failure).__name__}: {failure}"
        raise WrongUse(f"--arguments {text!r} cannot be read: {said}; {EXAMPLE}") from failure
    return found


def check_arguments(target: str, function: Callable[..., object], values: Sequence[object]) -> None:
    """Raises WrongUse where the function cannot be called with these values; a signature that is not known is not checked."""
    name = target.partition(":")[2]
    called = function.forward if isinstance(function, torch.nn.Module) else function
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*values)
    except TypeError as failure:
        problem = f"needs arguments: {EXAMPLE}" if not values else f"was given others: {failure}; {EXAMPLE}"
        raise WrongUse(f"{name} {problem}") from failure


def make_parser() -> argparse.ArgumentParser:
    """The commands and their arguments."""
    made = argparse.ArgumentParser(
        prog="framesmith", description="Turn Python functions that use PyTorch into graphs."
    )
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shown = commands.add_parser("demo", help="real models, compiled and compared with eager (extra: demo)")
    shown.add_argument("--only", action="append", default=[], help="run this case only; may be given again")
    shown.add_argument("--backend", help="default: inductor, or aot_eager without a C++ compiler")
    shown.add_argument(
        "--measure",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="measure trace time and overhead beside torch.compile",
    )
    commands.add_parser("version", help="versions of the five packages, of torch and of Python")
    asked = commands.add_parser("where", help="file and line of what handles a thing, or answers a question")
    asked.add_argument("names", nargs="+", help="for example list.append, BINARY_OP, or: recompile limit")
    told = commands.add_parser("explain", help="graphs, breaks and guards of one function")
    told.add_argument("target", help="module:function, looked up from the current folder")
    told.add_argument(
        "--arguments", "-a", default="", help='a Python expression over torch, e.g. "torch.ones(3), 2"'
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    line = make_parser()
    given = line.parse_args(arguments)
    try:
        if given.command == "demo":
            return demo(given.only, given.backend, measure=given.measure)
        if given.command == "where":
            return signposts.main(given.names)
        return explain(given.target, given.arguments) if given.command == "explain" else show_version()
    except WrongUse as wrong:
        line.error(str(wrong))


if __name__ == "__main__":
    sys.exit(main())
