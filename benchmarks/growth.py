"""Memory that stays behind when something is compiled, called and dropped: bytes of Python objects for each such cycle.

Each side and case has a process of its own. What is filled once (caches, interned names) is not growth, so cycles go by
before the first look, and both looks come after a full collection.
"""

import functools
import json
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.results import Result, attempt

WARM, CYCLES = 20, 60
PROGRAM = """
import gc, json, logging, sys, tracemalloc, warnings
import torch
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
side, case, warm, cycles = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if side == "ours":
    from framesmith import frontend
    compiled = lambda function: frontend.compile(function, backend="eager")
else:
    compiled = lambda function: torch.compile(function, backend="eager")

def function():
    def double(x): return x * 2 + 1
    compiled(double)(torch.ones(3))

class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    def forward(self, x): return self.second(self.first(x).relu())

def module():
    compiled(Layers())(torch.ones(2, 3))

def recompiles():
    def scale(x, n): return x * n + x.shape[0]
    called = compiled(scale)
    for n in (3, 4, 5, 6): called(torch.ones(n), n)

def breaks():
    def decide(x):
        y = x + 1
        print(end="")
        return y * 2 if y.sum() > 0 else y
    compiled(decide)(torch.ones(3))

def code():
    names = {}
    made.append(len(made))
    exec(f"def double(x): return (x * 2 + 1, {len(made)})[0]", names)
    compiled(names["double"])(torch.ones(3))

def memory():
    for _ in range(3): gc.collect()
    return tracemalloc.get_traced_memory()[0]

made = []
cycle = globals()[case]
for _ in range(warm): cycle()
gc.collect()
gc.freeze()  # what is there by now is not looked through again at each collection
tracemalloc.start()
for _ in range(warm): cycle()  # what replaces older things is counted here
looks = [memory()]
for number in range(1, 5):
    for _ in range(cycles // 4): cycle()
    looks.append(memory())
# one quarter may hold a table that doubled, such as CPython's own of interned names
quarters = sorted(after - before for before, after in zip(looks, looks[1:]))
print(json.dumps((quarters[1] + quarters[2]) / 2 / (cycles // 4)))
"""
CASES = {
    "function": "one function, made anew",
    "module": "an instance of one class",
    "recompiles": "a function and four sizes",
    "breaks": "a function with a graph break",
    "code": "a function with new code",
}


def growth(side: str, case: str, warm: int = WARM, cycles: int = CYCLES) -> float:
    """Bytes that stay behind after each cycle of a case; `side` is `ours` or `theirs`."""
    command = [sys.executable, "-c", PROGRAM, side, case, str(warm), str(cycles)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return float(json.loads(done.stdout.splitlines()[-1]))


def results() -> Iterator[Result]:
    """One line for each case."""
    for case, text in CASES.items():
        theirs, ours = (
            attempt(functools.partial(lambda side, case: (growth(side, case) / 1024, ""), side, case))
            for side in ("theirs", "ours")
        )
        yield Result(
            "growth after drop", text, "KiB", ours[0], theirs[0], None, "at most 1", ours[1], theirs[1]
        )
