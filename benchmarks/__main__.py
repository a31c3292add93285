"""`python -m benchmarks [--only FAMILY] [--json PATH]`: run the families, show the table, save the figures."""

import logging
import sys
import time
import warnings
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.progress import Progress

from benchmarks import (
    blocks,
    breaks,
    call_overhead,
    first_calls,
    growth,
    instances,
    startup,
    trace_time,
    training,
    versions,
)
from benchmarks.results import Result, save, table

FAMILIES = {
    "calls": call_overhead,
    "first-calls": first_calls,
    "instances": instances,
    "blocks": blocks,
    "trace": trace_time,
    "training": training,
    "breaks": breaks,
    "growth": growth,
    "startup": startup,
}
EXTRACTS = {"versions": versions}
"""Figures that a family has as well; they are measured when asked for."""


def main(
    only: Annotated[
        list[str] | None, typer.Option(help=f"One of {', '.join(FAMILIES | EXTRACTS)}; may be given again.")
    ] = None,
    json: Annotated[Path, typer.Option(help="Where the figures are saved.")] = Path(
        "benchmarks/results/latest.json"
    ),
) -> None:
    """Measure framesmith beside torch.compile."""
    known = FAMILIES | EXTRACTS
    unknown = set(only or ()) - set(known)
    if unknown:
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: there are {', '.join(known)}")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.getLogger("torch").setLevel(logging.ERROR)
    console = Console(width=None if sys.stdout.isatty() else 200)
    start = time.perf_counter()
    found: list[Result] = []
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("", total=None)
        for name in only or FAMILIES:
            for result in known[name].results():
                progress.update(task, description=f"{result.family}: {result.case}")
                found.append(result)
    console.print(table(found))
    save(found, json)
    console.print(f"{time.perf_counter() - start:.0f} s; figures in {json}")


if __name__ == "__main__":
    typer.run(main)
