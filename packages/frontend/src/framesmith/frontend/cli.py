"""The command line: `framesmith demo`, `version`, `where` and `explain`. Each command calls the module that does it."""

import importlib
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table

from framesmith import frontend
from framesmith.frontend import where as signposts
from framesmith.frontend.demo import models, report
from framesmith.frontend.demo.cases import CASES

LAYERS = ("bytecode", "guards", "graph", "variables", "frontend")

app = typer.Typer(
    name="framesmith",
    help="Turn Python functions that use PyTorch into graphs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.command()
def demo(
    only: Annotated[list[str] | None, typer.Option(help="Run this case only; may be given again.")] = None,
    backend: Annotated[
        str | None, typer.Option(help="Default: inductor, or aot_eager without a C++ compiler.")
    ] = None,
    measure: Annotated[
        bool, typer.Option(help="Measure trace time and overhead beside torch.compile.")
    ] = True,
) -> None:
    """Compile real models, compare with eager, show a table; exit with 1 on any difference."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    chosen = tuple(case for case in CASES if not only or case.name in only)
    if not chosen:
        names = ", ".join(case.name for case in CASES)
        console.print(f"no case is called {', '.join(only or [])}; there are: {names}", markup=False)
        raise typer.Exit(2)
    try:
        models.require()
    except models.MissingTransformers as missing:
        console.print(str(missing), markup=False, highlight=False)
        raise typer.Exit(2) from None
    raise typer.Exit(0 if report.show(chosen, backend, measure, console) else 1)


@app.command("version")
def show_version() -> None:
    """Versions of the five packages, of torch and of Python."""
    made = Table(box=None, show_header=False)
    for layer in LAYERS:
        try:
            made.add_row(f"framesmith-{layer}", version(f"framesmith-{layer}"))
        except PackageNotFoundError:
            made.add_row(f"framesmith-{layer}", "not installed (found on the path)")
    made.add_row("torch", torch.__version__)
    made.add_row("Python", sys.version.split()[0])
    Console().print(made)


@app.command()
def where(
    name: Annotated[str, typer.Argument(help="For example list.append, BINARY_OP or torch.add.")],
) -> None:
    """Print the file and line where a callable, an opcode or a guard is handled."""
    raise typer.Exit(signposts.main([name]))


def resolve(target: str) -> object:
    """The object that `module:function` names; dots after the colon go through attributes."""
    module, colon, path = target.partition(":")
    if not colon or not path:
        raise typer.BadParameter(f"{target!r} is not of the form module:function")
    sys.path.insert(0, os.getcwd())
    try:
        found: object = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as failure:
        raise typer.BadParameter(str(failure)) from failure
    return found


@app.command()
def explain(
    target: Annotated[str, typer.Argument(help="module:function, looked up from the current folder.")],
    arguments: Annotated[
        str,
        typer.Option("--arguments", "-a", help='A Python expression over torch, e.g. "torch.ones(3), 2".'),
    ] = "",
) -> None:
    """Trace a function with the given arguments, and print its graphs, breaks and guards."""
    function = resolve(target)
    if not callable(function):
        raise typer.BadParameter(f"{target!r} cannot be called: it is {function!r}")
    values = eval(f"({arguments},)" if arguments.strip() else "()", {"torch": torch})
    Console().print(str(frontend.explain(function)(*values)), markup=False, highlight=False)


if __name__ == "__main__":
    app()
