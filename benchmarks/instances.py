"""Equal blocks compiled one by one: the first calls of all of them together, and how many graphs went to the backend.

Each side and case has a process of its own. Something else was compiled before, with symbolic numbers and sizes, so that
what each compiler loads once in a process is not counted.
"""

import functools
import json
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.results import Result, attempt

PROGRAM = """
import json, logging, sys, time, warnings
import torch
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
torch.set_num_threads(1)
side, case = sys.argv[1:]
graphs = 0

def backend(module, examples):
    global graphs
    graphs += 1
    return module.forward

if side == "ours":
    from framesmith import frontend
    compiled = lambda function: frontend.compile(function, backend=backend)
else:
    compiled = lambda function: torch.compile(function, backend=backend)

class Block(torch.nn.Module):
    def __init__(self, number=1):
        super().__init__()
        self.number = number
        self.norm, self.inner, self.outer = torch.nn.LayerNorm(16), torch.nn.Linear(16, 32), torch.nn.Linear(32, 16)
    def forward(self, x):
        return x + self.outer(torch.relu(self.inner(self.norm(x)))) * self.number

class Scaled:
    def __init__(self, number):
        self.number, self.weight = number, torch.randn(16)
    def scale(self, x):
        return x * self.weight + self.number

def closure(number, weight):
    def scale(x): return x * weight + number
    return scale

def broken(number, weight):
    def scale(x):
        y = x * weight
        print(end="")
        return y + number
    return scale

def decorated(function):
    def wrapper(x): return function(x) + 1
    return wrapper

made = {
    "layers": lambda: [Block() for _ in range(24)],
    "numbers": lambda: [Block(number) for number in range(24)],
    "closures": lambda: [closure(number + 2., torch.randn(16)) for number in range(10)],
    "methods": lambda: [Scaled(number).scale for number in range(10)],
    "decorated": lambda: [decorated(closure(number + 2., torch.randn(16))) for number in range(10)],
    "breaks": lambda: [broken(number + 2., torch.randn(16)) for number in range(10)],
}[case]()
x = torch.randn(4, 16)
def scaled(x, number): return x * number
warm = compiled(scaled)
for number in (2., 3.): warm(x, number)  # the compilers load more when something is symbolic
warm = compiled(torch.nn.Sequential(torch.nn.LayerNorm(16), torch.nn.Linear(16, 16), torch.nn.ReLU()))
for size in (4, 5): warm(torch.randn(size, 16))
graphs = 0
functions = [compiled(each) for each in made]
began = time.perf_counter()
for each in functions: each(x)
print(json.dumps((1000 * (time.perf_counter() - began), graphs)))
"""
CASES = {
    "layers": "24 equal layers",
    "numbers": "24 layers, an int attribute varies",
    "closures": "10 closures of one factory",
    "methods": "methods of 10 instances",
    "decorated": "10 functions of one decorator",
    "breaks": "10 closures with a graph break",
}


def figure(side: str, case: str) -> tuple[float, str]:
    """The milliseconds of all first calls, and how many graphs were compiled."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, side, case], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    milliseconds, graphs = json.loads(done.stdout)
    return float(milliseconds), f"{graphs} graphs" if graphs != 1 else "1 graph"


def results() -> Iterator[Result]:
    """A result for each case."""
    for case, name in CASES.items():
        theirs, theirs_note = attempt(functools.partial(figure, "theirs", case))
        ours, ours_note = attempt(functools.partial(figure, "ours", case))
        yield Result("instances", name, "ms", ours, theirs, None, "at most 2 graphs", ours_note, theirs_note)
