"""From the start of `import torch` to the first result, and the peak of memory, each in a fresh process."""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.results import Result, attempt

PROGRAM = """
import time
start = time.perf_counter()
import torch
{imports}
def add(x, y):
    return x + y
{compile}(add, backend=lambda graph, inputs: graph.forward)(torch.ones(2), torch.ones(2))
seconds = time.perf_counter() - start
import json, resource, sys
unit = 1 if sys.platform == "darwin" else 1024
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20]))
"""
OURS = PROGRAM.format(imports="from framesmith import frontend", compile="frontend.compile")
THEIRS = PROGRAM.format(imports="", compile="torch.compile")

FLOOR = """
import time
start = time.perf_counter()
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
FakeTensorMode(shape_env=ShapeEnv())
seconds = time.perf_counter() - start
import json, resource, sys
unit = 1 if sys.platform == "darwin" else 1024
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20]))
"""


def once(program: str) -> tuple[float, float]:
    """Seconds and mebibytes of one process."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    seconds, mebibytes = json.loads(done.stdout.splitlines()[-1])
    return seconds, mebibytes


def median(program: str, index: int, rounds: int = 3) -> tuple[float, str]:
    """The median of several processes, after one that warms the disk."""
    once(program)
    return statistics.median(once(program)[index] for _ in range(rounds)), ""


def results() -> Iterator[Result]:
    """Time, then memory."""
    for index, (case, unit) in enumerate((("first result of x + y", "s"), ("peak memory", "MiB"))):
        theirs, theirs_note = attempt(lambda index=index: median(THEIRS, index))
        ours, ours_note = attempt(lambda index=index: median(OURS, index))
        floor, floor_note = attempt(lambda index=index: median(FLOOR, index))
        yield Result(
            "from import torch",
            f"{case}: torch's fake tensors alone",
            unit,
            floor,
            theirs,
            None,
            "",
            floor_note,
        )
        yield Result("from import torch", case, unit, ours, theirs, None, "", ours_note, theirs_note)
