"""The command `framesmith demo`, which the command line imports when it is asked for."""

import sys
from collections.abc import Sequence

from rich.console import Console

from framesmith.frontend.demo import models, report
from framesmith.frontend.demo.cases import CASES


def run_demo(only: Sequence[str], backend: str | None, measure: bool) -> int:
    """Run the cases with these names, or all; 0 when each did what eager does, 1 when not, 2 where nothing can run."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    chosen = tuple(case for case in CASES if not only or case.name in only)
    if not chosen:
        names = ", ".join(case.name for case in CASES)
        console.print(f"no case is called {', '.join(only)}; there are: {names}", markup=False)
        return 2
    try:
        models.require()
    except models.MissingTransformers as missing:
        console.print(str(missing), markup=False, highlight=False)
        return 2
    return 0 if report.show(chosen, backend, measure, console) else 1
