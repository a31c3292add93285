"""What a compiled call costs above its bare graph, in microseconds."""

from collections.abc import Callable, Iterator

import torch
from torch import nn

from benchmarks.results import Result, attempt
from framesmith.frontend.demo import measure
from framesmith.frontend.demo.cases import SEED, DemoProgram
from framesmith.frontend.demo.models import ARCHITECTURES

Build = Callable[[], DemoProgram]


def add(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """One operator, two inputs."""
    return left + right


def total(
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor,
    d: torch.Tensor,
    e: torch.Tensor,
    f: torch.Tensor,
    g: torch.Tensor,
    h: torch.Tensor,
    i: torch.Tensor,
    j: torch.Tensor,
) -> torch.Tensor:
    """Ten inputs."""
    return a + b + c + d + e + f + g + h + i + j


def linears(count: int, width: int, activation: bool) -> DemoProgram:
    """A stack of Linear layers, each followed by ReLU if asked, without gradients."""
    layers: list[nn.Module] = []
    for _ in range(count):
        layers += [nn.Linear(width, width), nn.ReLU()] if activation else [nn.Linear(width, width)]
    model = nn.Sequential(*layers)
    model.requires_grad_(False)
    return DemoProgram(model, (torch.randn(4, width),))


def bert() -> DemoProgram:
    """The demo's BERT for inference."""
    architecture = ARCHITECTURES["BERT"]
    model = architecture.build().eval()
    model.requires_grad_(False)
    return DemoProgram(model, keywords=architecture.inputs())


def seeded(make: Build) -> Build:
    """The same program each time it is built."""

    def build() -> DemoProgram:
        torch.manual_seed(SEED)
        return make()

    return build


CASES: tuple[tuple[str, Build, str], ...] = (
    ("two tensors, x + y", lambda: DemoProgram(add, (torch.randn(8), torch.randn(8))), "ratio <= 1/8"),
    ("ten tensors", lambda: DemoProgram(total, tuple(torch.randn(8) for _ in range(10))), ""),
    ("MLP of 20 layers", lambda: linears(20, 16, activation=True), "ratio <= 1/2"),
    ("100 Linear layers", lambda: linears(100, 16, activation=False), ""),
    ("BERT of 2 layers", bert, "ratio <= 1/2"),
)


def microseconds(peer: measure.Peer, build: Build) -> tuple[float, str]:
    """The overhead, and how many graphs the program has."""
    graphs = len(measure.record(peer, build).graphs)
    found = measure.overhead(peer, build, budget=1.5)
    return found.seconds * 1e6, "" if graphs == 1 else f"{graphs} graphs"


def result(case: str, build: Build, goal: str) -> Result:
    """Both sides of a case."""
    theirs, theirs_note = attempt(lambda: microseconds(measure.TORCH, build))
    ours, ours_note = attempt(lambda: microseconds(measure.FRAMESMITH, build))
    return Result("call overhead", case, "µs", ours, theirs, None, goal, ours_note, theirs_note)


def results() -> Iterator[Result]:
    """A result for each case."""
    for case, make, goal in CASES:
        yield result(case, seeded(make), goal)
