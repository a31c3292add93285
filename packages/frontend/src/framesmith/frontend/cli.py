"""The command line: `framesmith demo`, `version`, `where` and `explain`. Each command calls the module that does it.

Standard library only. What the demo needs besides (rich, transformers) comes with the extra `demo`. What `where`
answers is in `signposts`.
"""

import argparse
import ast
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import torch

from framesmith import frontend
from framesmith.frontend import where as signposts
from framesmith.frontend.compile_arguments import require_backend
from framesmith.frontend.errors import FramesmithError
from framesmith.graph.breaks.errors import UnknownBackend

LAYERS = ("bytecode", "guards", "graph", "variables", "frontend")
DEMO = "framesmith.frontend.demo.command"
"""Imported by the command `demo` only, since it needs the extra."""


EXAMPLE = 'pass for example --arguments "torch.ones(3), times=2"'


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
    if backend is not None:
        require_backend(backend)  # before models are built
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


def resolve(target: str) -> tuple[object, dict[str, object]]:
    """What `module:function` names, and the module's namespace; dots after the colon go through attributes. Raises WrongUse."""
    name, colon, path = target.partition(":")
    if not colon or not path:
        raise WrongUse(f"{target!r} is not of the form module:function")
    # where `python -m` looks first, and an installed command does not
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(name)
        found: object = module
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as failure:
        raise WrongUse(str(failure)) from failure
    return found, vars(module)


def explain(target: str, arguments: str = "") -> int:
    """Trace a function with the given arguments, and print its graphs, breaks and guards."""
    function, namespace = resolve(target)
    if not callable(function):
        raise WrongUse(f"{target!r} cannot be called: it is {function!r}")
    args, kwargs = read_arguments(arguments, namespace)
    check_arguments(target, function, arguments, args, kwargs)
    print(frontend.explain(function)(*args, **kwargs))
    return 0


def read_arguments(
    text: str, namespace: Mapping[str, object] | None = None
) -> tuple[tuple[object, ...], dict[str, object]]:
    """The values that the option `--arguments` gives, as between the brackets of a call: `torch.ones(3), times=2`.

    Evaluated in the namespace of the function's module, with `torch` besides. Raises WrongUse.
    """
    call = f"{_COLLECT}({text}\n)"
    names = {"torch": torch, **(namespace or {}), _COLLECT: lambda *args, **kwargs: (args, kwargs)}
    try:
        parsed = ast.parse(call, mode="eval").body
        if not isinstance(parsed, ast.Call) or not isinstance(parsed.func, ast.Name):
            raise SyntaxError("a bracket is closed that was not opened")
        found: tuple[tuple[object, ...], dict[str, object]] = eval(call, names)
    except Exception as failure:
        said = f"{type(failure).__name__}: {failure.msg if isinstance(failure, SyntaxError) else failure}"
        raise WrongUse(f"--arguments {text!r} cannot be read: {said}; {EXAMPLE}") from failure
    return found


_COLLECT: Final = "_arguments_of_the_call"


def check_arguments(
    target: str,
    function: Callable[..., object],
    text: str,
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> None:
    """Raises WrongUse where the function cannot be called with these values, which the text gives.

    A signature that is not known is not checked, nor is a class, which `explain` refuses.
    """
    name = target.partition(":")[2]
    called = function.forward if isinstance(function, torch.nn.Module) else function
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):
        return
    try:
        if not isinstance(function, type):
            signature.bind(*args, **kwargs)
    except TypeError as failure:
        written = f"{name}({', '.join(signature.parameters)})"
        problem = f"cannot be called with ({text}): {failure}" if args or kwargs else "needs arguments"
        raise WrongUse(f"{written} {problem}; {EXAMPLE}") from failure


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
        "--arguments",
        "-a",
        default="",
        help='what stands between the brackets of the call, over the names of the module and torch: "torch.ones(3), times=2"',
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
    except (WrongUse, FramesmithError, UnknownBackend) as wrong:
        line.error(str(wrong))


if __name__ == "__main__":
    sys.exit(main())
