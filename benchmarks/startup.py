"""From the start, and from the end, of `import torch` to the first result, and the peak of memory, each in a fresh process."""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence

from benchmarks.results import Result, attempt

BEGIN = """
import resource, time
def busy():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
start = time.perf_counter()
import torch
imported = time.perf_counter()
began = busy()
"""
END = """
now = time.perf_counter()
used = busy() - began
import json, sys
unit = 1 if sys.platform == "darwin" else 1024
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
print(json.dumps([now - start, now - imported, used, memory]))
"""
PROGRAM = (
    BEGIN
    + """
{imports}
def add(x, y):
    return x + y
{compile}(add, backend=lambda graph, inputs: graph.forward)(torch.ones(2), torch.ones(2))
"""
    + END
)
OURS = PROGRAM.format(imports="from framesmith import frontend", compile="frontend.compile")
THEIRS = PROGRAM.format(imports="", compile="torch.compile")

FLOOR = (
    BEGIN
    + """
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
FakeTensorMode(shape_env=ShapeEnv())
"""
    + END
)
AFTER_TORCH = "the same, after import torch"
CASES = (
    ("first result of x + y", "s"),
    (AFTER_TORCH, "s"),
    ("the same, time of the processor", "s"),
    ("peak memory", "MiB"),
)


def once(program: str) -> list[float]:
    """The figures of `CASES` of one process."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    figures: list[float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def medians(programs: Sequence[str], rounds: int = 3) -> list[tuple[list[float] | None, str]]:
    """The medians of each program's figures, or why there are none; programs take turns after a round that warms the disk."""
    taken = [
        [attempt(lambda program=program: (once(program), "")) for program in programs]
        for _ in range(rounds + 1)
    ]
    found = []
    for runs in zip(*taken[1:], strict=True):
        notes = [note for figures, note in runs if figures is None]
        figures = [figures for figures, _ in runs if figures is not None]
        found.append(
            (None, notes[0])
            if notes
            else ([statistics.median(one) for one in zip(*figures, strict=True)], "")
        )
    return found


def results() -> Iterator[Result]:
    """Time, then memory."""
    (floor, floor_note), (theirs, theirs_note), (ours, ours_note) = medians((FLOOR, THEIRS, OURS))
    for index, (case, unit) in enumerate(CASES):
        least, other, own = (None if figures is None else figures[index] for figures in (floor, theirs, ours))
        fakes = f"{case}: torch's fake tensors alone"
        yield Result("from import torch", fakes, unit, least, other, None, "", floor_note, theirs_note)
        yield Result("from import torch", case, unit, own, other, None, "", ours_note, theirs_note)
