"""Programs with graph breaks: a long loop, a training loop that prints, a break five calls deep."""

import functools
import io
from collections.abc import Callable, Iterator

import torch
from torch import nn

from benchmarks.results import Result, attempt
from framesmith.frontend.demo import measure

SINK = io.StringIO()
ITERATIONS = 1000


def loop(values: torch.Tensor, count: int) -> torch.Tensor:
    """A break in each round, with work before and after it."""
    for _ in range(count):
        values = torch.sin(values) * 0.9 + 0.1
        print(end="", file=SINK)
        values = torch.cos(values) - values.mean()
    return values


def train(
    model: nn.Module, optimizer: torch.optim.Optimizer, inputs: torch.Tensor, labels: torch.Tensor
) -> float:
    """Fifty steps, each printing its loss."""
    loss = torch.zeros(())
    for step in range(50):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), labels)
        loss.backward()
        optimizer.step()
        print(step, loss.item(), file=SINK)
    return loss.item()


def fifth(values: torch.Tensor) -> torch.Tensor:
    """Where the break is."""
    values = values * 2
    print(end="", file=SINK)
    return values + 1


def fourth(values: torch.Tensor) -> torch.Tensor:
    """Calls the fifth."""
    return fifth(values + 4).sin()


def third(values: torch.Tensor) -> torch.Tensor:
    """Calls the fourth."""
    return fourth(values + 3).sin()


def second(values: torch.Tensor) -> torch.Tensor:
    """Calls the third."""
    return third(values + 2).sin()


def first(values: torch.Tensor) -> torch.Tensor:
    """Calls the second."""
    return second(values + 1).sin()


Prepare = Callable[[], tuple[Callable[..., object], tuple[object, ...]]]


def training() -> tuple[Callable[..., object], tuple[object, ...]]:
    """A fresh model with its optimizer and data."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    return train, (model, optimizer, torch.randn(16, 32), torch.randn(16, 8))


def first_call(peer: measure.Peer, prepare: Prepare) -> tuple[float, str]:
    """Milliseconds of the first call, tracing included, and how many graphs it made."""
    peer.reset()
    function, arguments = prepare()
    capture = measure.Capture()
    compiled = peer.compile(function, capture)
    seconds = measure.elapsed(lambda: compiled(*arguments))
    return seconds * 1e3, f"{len(capture.graphs)} graphs"


Later = tuple[float, float, str, float, str]


def later_calls(prepare: Prepare, rounds: int = 15) -> Later:
    """Median milliseconds of a call once everything is compiled, and how many graphs were made: eagerly, by
    torch.compile, by framesmith. Rounds alternate between the three."""
    calls, notes = [], []
    for peer in (None, measure.TORCH, measure.FRAMESMITH):
        function, arguments = prepare()
        capture = measure.Capture()
        if peer is not None:
            peer.reset()
            function = peer.compile(function, capture)
        calls.append(functools.partial(function, *arguments))
        calls[-1]()
        notes.append(capture.graphs)
    eager, theirs, ours = (1e3 * seconds for seconds in measure.fastest(calls, budget=3.0, rounds=rounds))
    return eager, theirs, f"{len(notes[1])} graphs", ours, f"{len(notes[2])} graphs"


def compare(family: str, case: str, prepare: Prepare, goal: str = "") -> Iterator[Result]:
    """Two results: the first call, and later ones beside eager."""
    theirs, theirs_note = attempt(lambda: first_call(measure.TORCH, prepare))
    ours, ours_note = attempt(lambda: first_call(measure.FRAMESMITH, prepare))
    yield Result(family, f"{case}, first call", "ms", ours, theirs, None, "", ours_note, theirs_note)
    eager, theirs, theirs_note, ours, ours_note = later_calls(prepare)
    yield Result(family, f"{case}, later calls", "ms", ours, theirs, eager, goal, ours_note, theirs_note)


def results() -> Iterator[Result]:
    """The loop on small and on larger tensors, the training loop, the deep break."""
    goal = "<= 1.2 x eager, <= 3 graphs"
    for size in ((64,), (128, 128)):
        name = f"{ITERATIONS} rounds on {'x'.join(map(str, size))}"
        yield from compare(
            "loop with a break", name, lambda size=size: (loop, (torch.randn(size), ITERATIONS)), goal
        )
    yield from compare("training with a print", "50 steps", training, "<= 1.2 x eager")
    yield from compare("break five calls deep", "8 numbers", lambda: (first, (torch.randn(8),)))
