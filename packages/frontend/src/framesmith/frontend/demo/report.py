"""What the demo shows: progress while it runs, the table at the end, and every difference in full. Rows come from `run`."""

import logging
import time

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from framesmith.frontend.demo.cases import Case
from framesmith.frontend.demo.run import CaseRow, Cost, choose_backend, run

COLUMNS = (
    "program",
    "result",
    "graphs",
    "breaks",
    "operators",
    "guards",
    "trace ms",
    "torch.compile",
    "call overhead µs",
    "torch.compile",
    "ratio",
)


def cells(row: CaseRow) -> list[str]:
    """The row as texts; a dash means that something was not measured."""
    result = "[green]as eager[/]" if row.passed else "[red]FAILED[/]" if row.failure else "[red]DIFFERS[/]"
    if row.failure:
        return [row.name, result, *["-"] * (len(COLUMNS) - 2)]
    counts = row.counts
    numbers = [str(number) for number in (counts.graphs, counts.breaks, counts.operators, counts.guards)]
    mark = " *" if row.above_eager else ""
    return [row.name, result, *numbers, *traces(row.cost, row.peer), *overheads(row.cost, row.peer, mark)]


def traces(ours: Cost | None, theirs: Cost | None) -> list[str]:
    """Trace times in milliseconds."""
    return [f"{one.trace * 1e3:.0f}" if one else "-" for one in (ours, theirs)]


def overheads(ours: Cost | None, theirs: Cost | None, mark: str) -> list[str]:
    """Overheads in microseconds, and ours over theirs where both are above the noise."""
    texts = [f"{one.overhead.seconds * 1e6:.1f}{mark}" if one else "-" for one in (ours, theirs)]
    if ours and theirs and min(ours.overhead.seconds, theirs.overhead.seconds) > 0:
        return [*texts, f"{ours.overhead.seconds / theirs.overhead.seconds:.2f}"]
    return [*texts, "-"]


def table(rows: list[CaseRow], backend: str) -> Table:
    """The table of all rows."""
    made = Table(title=f"compiled by framesmith with {backend}, compared with eager", title_justify="left")
    for index, column in enumerate(COLUMNS):
        made.add_column(column, justify="left" if index < 2 else "right", no_wrap=index == 0)
    for row in rows:
        made.add_row(*cells(row))
    if any(row.above_eager for row in rows):
        made.caption = (
            "* part of it runs natively on purpose: measured above eager instead of above its bare graphs"
        )
    return made


def explain_failures(console: Console, rows: list[CaseRow]) -> None:
    """Print what differs, ten leaves a case at most, and every exception."""
    for row in rows:
        if row.failure:
            console.print(f"\n[red]{row.name} failed[/]")
            console.print(row.failure, markup=False, highlight=False)
        for difference in row.differences[:10]:
            console.print(f"{row.name}: {difference}", markup=False)
        if len(row.differences) > 10:
            console.print(f"{row.name}: and {len(row.differences) - 10} more differences")


def show(cases: tuple[Case, ...], backend: str | None, measured: bool, console: Console) -> bool:
    """Run the cases and show them; True when every one did what eager does."""
    start = time.perf_counter()
    # what torch.compile remarks on its own run is not ours to show
    logging.getLogger("torch").setLevel(logging.ERROR)
    chosen = backend or choose_backend()
    if chosen == "aot_eager" and backend is None:
        console.print("[bold yellow]No C++ compiler found: compiling with aot_eager instead of inductor.[/]")
    else:
        console.print(f"Compiling with [bold]{chosen}[/].")
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    rows = []
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(cases))
        for case in cases:
            progress.update(task, description=case.name)
            rows.append(run(case, chosen, measured))
            progress.advance(task)
    console.print(table(rows, chosen))
    explain_failures(console, rows)
    passed = sum(row.passed for row in rows)
    console.print(f"{passed} of {len(rows)} as eager, in {time.perf_counter() - start:.0f} s")
    return passed == len(rows)
