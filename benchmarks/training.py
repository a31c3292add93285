"""Whole training steps beside eager and torch.compile: first calls, later ones, memory. Each figure has a process of its own."""

import functools
import json
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.results import Result, attempt
from benchmarks.training_programs import FIRST, PROGRAMS

Figures = dict[str, float]


def figures(side: str, name: str, backend: str) -> tuple[Figures, str]:
    """What `training_programs` prints."""
    command = [sys.executable, "-m", "benchmarks.training_programs", side, name, backend]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    found: Figures = json.loads(done.stdout.strip().splitlines()[-1])
    graphs = int(found["graphs"])
    return found, f"{graphs} graphs" if graphs > 1 else "1 graph" if graphs else ""


def results() -> Iterator[Result]:
    """Both backends, each program."""
    for backend in ("bare", "inductor"):
        for name in PROGRAMS:
            case = f"{name}, {backend}"
            eager, _ = attempt(functools.partial(figures, "eager", name, backend))
            theirs, theirs_note = attempt(functools.partial(figures, "theirs", name, backend))
            ours, ours_note = attempt(functools.partial(figures, "ours", name, backend))
            for what, unit, goal in (
                ("step", "ms", "ratio <= 1"),
                ("peak", "KiB", ""),
                ("first", "s", ""),
            ):
                label = f"{case}: first {FIRST} steps" if what == "first" else f"{case}: {what}"
                values = [None if side is None else side[what] for side in (ours, theirs, eager)]
                yield Result("training", label, unit, *values, goal, ours_note, theirs_note)
