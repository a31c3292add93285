"""Equal layers in one model: trace time against their number, first call and later calls with inductor.

Each figure has a process of its own (`block_programs`). `theirs` is torch.compile; the sides of ours are in the names of cases.
"""

import functools
import json
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.block_programs import MODELS
from benchmarks.results import Result, attempt

FEW, MANY = 4, 48
COMPILED = {"GPT": 24}


def figures(side: str, name: str, count: int, what: str) -> tuple[float, float]:
    """Milliseconds of the first call and of a later one."""
    command = [sys.executable, "-m", "benchmarks.block_programs", side, name, str(count), what]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    first, later = json.loads(done.stdout.strip().splitlines()[-1])
    return float(first), float(later)


def trace(side: str, name: str, count: int) -> tuple[float, str]:
    """The milliseconds of the first call, without what a later call takes: the model itself runs in both."""
    first, later = figures(side, name, count, "trace")
    return first - later, ""


def _beside(case: str, side: str, name: str, count: int, goal: str) -> Result:
    theirs, theirs_note = attempt(functools.partial(trace, "theirs", name, count))
    ours, ours_note = attempt(functools.partial(trace, side, name, count))
    return Result("blocks", case, "ms", ours, theirs, None, goal, ours_note, theirs_note)


def _compiled(name: str, count: int, what: str) -> Iterator[Result]:
    """First calls beside torch.compile's, and later calls of one shared subgraph beside those of the flat graph."""
    sides = {}
    for side in ("ours", "flat", "theirs"):
        sides[side] = attempt(functools.partial(lambda one: (figures(one, name, count, what), ""), side))[0]
    ours, flat, theirs = (sides[side] or (None, None) for side in ("ours", "flat", "theirs"))
    case = f"{name}, {count} layers, inductor, {what}"
    yield Result("blocks", f"{case}: first call", "ms", ours[0], theirs[0], None, "ratio <= 1/4", "", "")
    yield Result("blocks", f"{case}: first call, flat", "ms", flat[0], theirs[0], None, "", "", "")
    yield Result("blocks", f"{case}: later calls", "ms", ours[1], theirs[1], None, "", "", "")
    yield Result("blocks", f"{case}: later calls, flat", "ms", flat[1], theirs[1], None, "", "", "")


def results() -> Iterator[Result]:
    """Trace time, then inductor."""
    for name in MODELS:
        few, many = (FEW, MANY) if name != "Linear" else (8, 100)
        for count in (few, many):
            yield _beside(f"{name}, {count} layers: trace", "ours", name, count, "many <= 2.5 few")
            yield _beside(f"{name}, {count} layers: trace of each layer", "traced", name, count, "")
    for name, count in COMPILED.items():
        for what in ("forward", "training"):
            yield from _compiled(name, count, what)
