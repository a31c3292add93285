"""What the demo runs: each case builds a program, that is a callable, its arguments and the state it may change.

A case is built anew for each use, from the same random seed, so that eager and compiled start from equal, separate state.
"""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import final

import torch
from torch import nn

from framesmith.frontend.demo.models import ARCHITECTURES, Architecture

SEED = 20


@final
@dataclass(frozen=True, slots=True)
class DemoProgram:
    """`target` is compiled; it is called as `target(*arguments, **keywords)`.

    `modules` are the modules whose parameters, gradients and buffers are compared afterwards, `optimizer` likewise.
    `backward`: whether the demo itself calls backward on the sum of the outputs. `printed` collects what is printed.
    """

    target: Callable[..., object]
    arguments: tuple[object, ...] = ()
    keywords: Mapping[str, object] = field(default_factory=dict)
    modules: tuple[nn.Module, ...] = ()
    optimizer: torch.optim.Optimizer | None = None
    backward: bool = False
    printed: io.StringIO = field(default_factory=io.StringIO)


@final
@dataclass(frozen=True, slots=True)
class Case:
    """A named program. `native` says that part of it runs outside graphs on purpose, so that its overhead is counted
    above eager instead of above its bare graphs."""

    name: str
    make: Callable[[], DemoProgram]
    native: bool = False

    def build(self) -> DemoProgram:
        """A fresh program, equal to all others that this case builds."""
        torch.manual_seed(SEED)
        return self.make()


def forward_of(architecture: Architecture) -> Callable[[], DemoProgram]:
    """A program that calls the model; its gradients are compared too."""

    def make() -> DemoProgram:
        model = architecture.build()
        return DemoProgram(model, keywords=architecture.inputs(), modules=(model,), backward=True)

    return make


def training_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, inputs: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    """Forward, loss, backward and one step of the optimizer."""
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()  # type: ignore[no-untyped-call]  # torch leaves Tensor.backward without annotations
    optimizer.step()
    return loss.detach()


def mlp_training() -> DemoProgram:
    """A step of Adam on a perceptron of three layers."""
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    arguments = (model, optimizer, torch.randn(16, 32), torch.randint(0, 8, (16,)))
    return DemoProgram(training_step, arguments, modules=(model,), optimizer=optimizer)


def relax(values: torch.Tensor, steps: int, log: io.StringIO) -> tuple[torch.Tensor, list[int]]:
    """A loop under no_grad with a print in it: each round breaks the graph."""
    seen = []
    with torch.no_grad():
        for step in range(steps):
            values = torch.sin(values) * 0.5 + values.mean()
            print("step", step, file=log)
            values = values.relu() + step
            seen.append(step)
    return values, seen


def loop_with_a_break() -> DemoProgram:
    """`relax` for five rounds."""
    log = io.StringIO()
    return DemoProgram(relax, (torch.randn(8, 8, requires_grad=True), 5, log), printed=log)


CASES: tuple[Case, ...] = (
    *(Case(architecture.name, forward_of(architecture)) for architecture in ARCHITECTURES.values()),
    Case("MLP training step", mlp_training, native=True),
    Case("loop with a break", loop_with_a_break, native=True),
)
