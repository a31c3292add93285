"""Warm trace time with a backend that does nothing: real models, and straight-line code of growing length."""

from collections.abc import Callable, Iterator

import torch

from benchmarks.call_overhead import Build, seeded
from benchmarks.results import Result, attempt
from framesmith.frontend.demo import measure
from framesmith.frontend.demo.cases import DemoProgram
from framesmith.frontend.demo.models import ARCHITECTURES, Architecture

LENGTHS = (100, 200, 500, 1000, 2000, 5000)


def straight(length: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """A function of `length` operators, one a line."""
    lines = "".join(f"    x = x {'+*-'[index % 3]} {1 + index % 7}\n" for index in range(length))
    namespace: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {}
    exec(compile(f"def straight(x):\n{lines}    return x\n", f"<straight {length}>", "exec"), namespace)
    return namespace["straight"]


def milliseconds(peer: measure.Peer, build: Build, repeats: int = 5) -> tuple[float, str]:
    """Trace time, with the number of operators."""
    operators = measure.record(peer, build).operators
    return measure.trace_seconds(peer, build, repeats) * 1e3, f"{operators} ops"


def forward(architecture: Architecture) -> Build:
    """A program that calls the model."""
    return seeded(lambda: DemoProgram(architecture.build(), keywords=architecture.inputs()))


def result(model: str, build: Build) -> Result:
    """Both sides of a model."""
    theirs, theirs_note = attempt(lambda: milliseconds(measure.TORCH, build))
    ours, ours_note = attempt(lambda: milliseconds(measure.FRAMESMITH, build))
    return Result("warm trace", model, "ms", ours, theirs, None, "ratio <= 1/2", ours_note, theirs_note)


def results() -> Iterator[Result]:
    """Models first, then lengths, in microseconds an operator, so that a straight line shows as a constant."""
    for name, architecture in ARCHITECTURES.items():
        yield result(name, forward(architecture))
    for length in LENGTHS:
        function = straight(length)
        build = seeded(lambda function=function: DemoProgram(function, (torch.randn(4),)))
        found = []
        for peer in (measure.TORCH, measure.FRAMESMITH):
            value, note = attempt(lambda peer=peer, build=build: milliseconds(peer, build, 3))
            found.append((None if value is None else value * 1e3 / length, "" if value is not None else note))
        (theirs, theirs_note), (ours, ours_note) = found
        yield Result(
            "trace per operator",
            f"{length} lines",
            "µs",
            ours,
            theirs,
            None,
            "constant",
            ours_note,
            theirs_note,
        )
