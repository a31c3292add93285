"""The first calls of a compiled net of three layers: the first compiles, and each later one should cost what the tenth does.

Medians over nets that are compiled anew. `eager` is a net that has run before, called after something else was compiled:
what its first calls cost more is the processor's caches, which the compilation has filled with other things.
"""

import gc
import statistics
import time
from collections.abc import Callable, Iterator

import torch

from benchmarks.results import Result
from framesmith import frontend

CALLS, REPETITIONS = 10, 15
Call = Callable[[torch.Tensor], torch.Tensor]


class Net(torch.nn.Module):
    """Three layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = (torch.nn.Linear(16, 16) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The layers, with ReLU between."""
        found: torch.Tensor = self.third(torch.relu(self.second(torch.relu(self.first(x)))))
        return found


def compiled_by_torch() -> Call:
    """A net, compiled by torch."""
    torch.compiler.reset()
    made: Call = torch.compile(Net(), backend="eager")
    return made


def compiled_by_us() -> Call:
    """A net, compiled by framesmith; the one before is gone, and its entries with it."""
    made: Call = frontend.compile(Net(), backend="eager")
    return made


def microseconds(make: Callable[[], Call]) -> list[float]:
    """The median time of each call."""
    x, rows = torch.randn(4, 16), []
    for _ in range(REPETITIONS):
        function, row = make(), []
        gc.collect()
        gc.disable()
        for _ in range(CALLS):
            began = time.perf_counter()
            function(x)
            row.append((time.perf_counter() - began) * 1e6)
        gc.enable()
        rows.append(row)
        del function
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def results() -> Iterator[Result]:
    """A result for each of the calls 1 to 8, and for the tenth."""
    net, x = Net(), torch.randn(4, 16)
    for _ in range(20):
        net(x)

    def cold() -> Call:
        compiled_by_us()(x)
        return net

    sides = [microseconds(make) for make in (compiled_by_us, compiled_by_torch, cold)]
    for number in (*range(1, 9), CALLS):
        ours, theirs, eager = (side[number - 1] for side in sides)
        yield Result(
            "first calls", f"call {number}", "µs", ours, theirs, eager, "" if number == 1 else "as call 10"
        )
