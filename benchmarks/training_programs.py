"""Whole training steps, and one measurement of one of them: `python -m benchmarks.training_programs SIDE PROGRAM BACKEND`.

SIDE: `eager`, `ours`, `theirs`. BACKEND: `bare` (one that runs the graph as it is) or `inductor`. Prints JSON: seconds of the
calls until the step is steady, milliseconds of a later one, KiB that it needs at most beyond what is held between steps, and the
number of graphs.
"""

import json
import logging
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.profiler import ProfilerActivity

import framesmith.frontend as fs
from benchmarks.block_programs import Block

FIRST, ROUNDS, STEPS = 6, 5, 10
Step = Callable[..., torch.Tensor]


def fit(
    model: nn.Module, inputs: torch.Tensor, loss_of: Callable[[torch.Tensor], torch.Tensor]
) -> tuple[Step, torch.Tensor]:
    """A step of AdamW, with gradients clipped."""
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)

    def step(x: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of(model(x))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return step, inputs


def mean_square(y: torch.Tensor) -> torch.Tensor:
    return y.square().mean()


def mlp() -> tuple[Step, torch.Tensor]:
    """Three layers."""
    layers = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64))
    return fit(layers, torch.randn(64, 64), mean_square)


def convolution() -> tuple[Step, torch.Tensor]:
    """With batch norm and dropout."""
    stages = [
        nn.Sequential(nn.Conv2d(width, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Dropout(0.1))
        for width in (3, 16, 16)
    ]
    net = nn.Sequential(*stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
    return fit(net, torch.randn(8, 3, 16, 16), lambda y: F.cross_entropy(y, torch.arange(8)))


def gpt() -> tuple[Step, torch.Tensor]:
    """Four blocks."""
    return fit(nn.Sequential(*[Block() for _ in range(4)]), torch.randn(2, 16, 64), mean_square)


def gan() -> tuple[Step, torch.Tensor]:
    """Two networks, each with an optimizer."""
    maker = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32))
    judge = nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    first, second = torch.optim.Adam(judge.parameters(), 1e-3), torch.optim.Adam(maker.parameters(), 1e-3)

    def step(x: torch.Tensor) -> torch.Tensor:
        made = maker(torch.randn(x.shape[0], 16))
        first.zero_grad()
        loss = F.softplus(-judge(x)).mean() + F.softplus(judge(made.detach())).mean()
        loss.backward()
        first.step()
        second.zero_grad()
        F.softplus(-judge(made)).mean().backward()
        second.step()
        return loss.detach()

    return step, torch.randn(32, 32)


def ppo() -> tuple[Step, torch.Tensor]:
    """An actor and a critic, with distributions."""
    actor = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 4))
    critic = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], 3e-4)
    actions, before, returns = torch.arange(64) % 4, torch.full((64,), -1.4), torch.linspace(-1, 1, 64)

    def step(x: torch.Tensor) -> torch.Tensor:
        chosen = torch.distributions.Categorical(logits=actor(x))
        value = critic(x).squeeze(-1)
        advantage = returns - value.detach()
        ratio = (chosen.log_prob(actions) - before).exp()
        policy = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        loss = policy + 0.5 * F.mse_loss(value, returns) - 0.01 * chosen.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, torch.randn(64, 8)


PROGRAMS = {"MLP": mlp, "convolution": convolution, "GPT": gpt, "GAN": gan, "PPO": ppo}


def peak_of(step: Callable[[], object]) -> float:
    """The KiB that a step has allocated at most beyond what there was before it, as torch's profiler counts."""
    with torch.profiler.profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profile:
        step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    memory = sorted((one for one in events if one.get("name") == "[memory]"), key=lambda one: one["ts"])
    held = most = 0.0
    for one in memory:
        held += one["args"]["Bytes"]
        most = max(most, held)
    return most / 1024


def measure(side: str, name: str, backend: str) -> dict[str, float]:
    """The figures of one side."""
    graphs: list[torch.fx.GraphModule] = []

    def bare(module: torch.fx.GraphModule, examples: list[object]) -> Callable[..., object]:
        graphs.append(module)
        return module.forward

    torch.manual_seed(0)
    step, x = PROGRAMS[name]()
    chosen: object = bare if backend == "bare" else backend
    if side != "eager":
        step = fs.compile(step, backend=chosen) if side == "ours" else torch.compile(step, backend=chosen)
    began = time.perf_counter()
    for _ in range(FIRST):
        step(x)
    first, rounds = time.perf_counter() - began, []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(STEPS):
            step(x)
        rounds.append((time.perf_counter() - began) / STEPS)
    peak = peak_of(lambda: step(x))
    return {"first": first, "step": min(rounds) * 1e3, "peak": peak, "graphs": len(graphs)}


def main() -> None:
    """Measure what the arguments say."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.getLogger("torch").setLevel(logging.ERROR)
    # what an earlier run left on disk would make a first call quick
    os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
    print(json.dumps(measure(*sys.argv[1:])))


if __name__ == "__main__":
    main()
