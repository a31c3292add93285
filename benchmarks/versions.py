"""The few figures that are set side by side for each supported Python: `python dev.py versions`."""

from collections.abc import Iterator

from benchmarks import call_overhead, startup, trace_time
from benchmarks.call_overhead import seeded
from benchmarks.results import Result
from framesmith.frontend.demo.models import ARCHITECTURES

CALLS = ("two tensors, x + y", "MLP of 20 layers")
MODEL = "BERT"


def results() -> Iterator[Result]:
    """Two overheads, one trace, and the time from `import torch` to the first result."""
    for case, make, goal in call_overhead.CASES:
        if case in CALLS:
            yield call_overhead.result(case, seeded(make), goal)
    yield trace_time.result(MODEL, trace_time.forward(ARCHITECTURES[MODEL]))
    yield from (one for one in startup.results() if one.case == startup.AFTER_TORCH)
