"""Stacks of equal layers, and one measurement of one of them: `python -m benchmarks.block_programs SIDE MODEL LAYERS WHAT`.

SIDE: `ours`, `flat` (ours, repeated operations inlined), `traced` (ours, each layer traced), `theirs`.
WHAT: `trace` (a backend that does nothing), or inductor in `forward` or `training`. Prints milliseconds as JSON: of the first
call, and for inductor of a later one.
"""

import json
import logging
import sys
import time
import warnings
from collections.abc import Callable

import torch
import torch._inductor.config
import torch.nn.functional as F
from torch import nn

import framesmith.frontend as fs

WIDTH, HEADS, TOKENS, REPEATS = 64, 4, 16, 50


class Attention(nn.Module):
    def __init__(self, causal: bool):
        super().__init__()
        self.causal, self.qkv, self.out = causal, nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        q, k, v = (
            part.view(batch, tokens, HEADS, width // HEADS).transpose(1, 2)
            for part in self.qkv(x).split(width, 2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    def __init__(self, causal: bool = True):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention(causal)
        self.inner = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.first(x))
        return x + self.inner(self.second(x))


class Gated(nn.Module):
    """A layer of a Llama: RMS norm, rotary positions given from outside, a gated inner layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.gate, self.up = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.down = nn.Linear(3 * WIDTH, WIDTH, bias=False)

    def rotated(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        left, right = x.chunk(2, -1)
        return x * cos + torch.cat([-right, left], -1) * sin

    def forward(self, x: torch.Tensor, positions: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        batch, tokens, width = x.shape
        y = self.first(x)
        q, k, v = (one(y).view(batch, tokens, HEADS, -1).transpose(1, 2) for one in (self.q, self.k, self.v))
        q, k = self.rotated(q, *positions), self.rotated(k, *positions)
        y = (
            F.scaled_dot_product_attention(q, k, v, is_causal=True)
            .transpose(1, 2)
            .reshape(batch, tokens, width)
        )
        x = x + self.out(y)
        y = self.second(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Residual(nn.Module):
    """A block of a UNet: group norm and convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(4, 16) for _ in range(2))
        self.convolutions = nn.ModuleList(nn.Conv2d(16, 16, 3, padding=1) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for norm, convolution in zip(self.norms, self.convolutions, strict=True):
            y = convolution(F.silu(norm(y)))
        return x + y


class Stack(nn.Module):
    def __init__(self, layers: list[nn.Module], *given: object):
        super().__init__()
        self.layers, self.given = nn.ModuleList(layers), given

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x, *self.given)
        return x


class UNet(nn.Module):
    """Stages with as many blocks each, down and up again."""

    def __init__(self, count: int):
        super().__init__()
        self.down = nn.ModuleList(Stack([Residual() for _ in range(count // 4)]) for _ in range(2))
        self.up = nn.ModuleList(Stack([Residual() for _ in range(count // 4)]) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for stage in self.down:
            x = stage(x)
            kept.append(x)
            x = F.avg_pool2d(x, 2)
        for stage in self.up:
            x = stage(F.interpolate(x, scale_factor=2.0) + kept.pop())
        return x


def positions() -> tuple[torch.Tensor, torch.Tensor]:
    angles = torch.outer(torch.arange(TOKENS), torch.arange(WIDTH // HEADS) / 7.0)
    return angles.cos(), angles.sin()


MODELS: dict[str, Callable[[int], tuple[nn.Module, torch.Tensor]]] = {
    "GPT": lambda count: (Stack([Block() for _ in range(count)]), torch.randn(2, TOKENS, WIDTH)),
    "Llama": lambda count: (
        Stack([Gated() for _ in range(count)], positions()),
        torch.randn(2, TOKENS, WIDTH),
    ),
    "ViT": lambda count: (
        nn.Sequential(nn.Conv2d(3, WIDTH, 8, 8), nn.Flatten(2), Stack([Block(False) for _ in range(count)])),
        torch.randn(2, 3, 64, 64),
    ),
    "UNet": lambda count: (UNet(count), torch.randn(1, 16, 16, 16)),
    "Linear": lambda count: (nn.Sequential(*(nn.Linear(16, 16) for _ in range(count))), torch.randn(4, 16)),
}


def compiled(side: str, model: nn.Module, backend: object) -> Callable[..., torch.Tensor]:
    if side == "theirs":
        return torch.compile(model, backend=backend)
    fs.config.reuse_blocks = side != "traced"
    fs.config.shared_subgraphs = side != "flat"
    return fs.compile(model, backend=backend)


def idle(module: torch.fx.GraphModule, examples: list[object]) -> Callable[..., object]:
    """A backend that does nothing."""
    return module.forward


def run(function: Callable[..., torch.Tensor], x: torch.Tensor, training: bool) -> None:
    if training:
        function(x).sum().backward()
        return
    with torch.no_grad():
        function(x)


def milliseconds(side: str, name: str, count: int, what: str) -> tuple[float, float]:
    """Of the first call, and of a later one (the least of many)."""
    backend: object = idle if what == "trace" else "inductor"
    training = what == "training"
    for size in (4, 4):  # what each compiler loads once in a process is not counted
        model, x = MODELS[name](size)
        run(compiled(side, model, backend), x, training)
        if side == "theirs":
            torch.compiler.reset()
    torch.manual_seed(0)
    model, x = MODELS[name](count)
    function = compiled(side, model, backend)
    began = time.perf_counter()
    run(function, x, training)
    first = time.perf_counter() - began
    later = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        run(function, x, training)
        later.append(time.perf_counter() - began)
    return first * 1e3, min(later) * 1e3


def main() -> None:
    """One measurement, without torch's caches of compiled code."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    torch._inductor.config.force_disable_caches = True
    side, name, count, what = sys.argv[1:]
    print(json.dumps(milliseconds(side, name, int(count), what)))


if __name__ == "__main__":
    main()
