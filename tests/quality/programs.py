"""Programs whose capture is pinned: name -> (function, arguments). Small, and typical of what people compile."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Program = tuple[Callable[..., Any], tuple[Any, ...]]


class Block(nn.Module):
    """Attention and a feed-forward part, with residuals."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norms[0](x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.feed(self.norms[1](x))


@dataclass
class Options:
    """A configuration as users write it."""

    scale: float = 2.0
    steps: int = 3


def containers(x: torch.Tensor, options: Options) -> dict[str, Any]:
    seen = [x * options.scale + i for i in range(options.steps)]
    return {"all": seen, "sum": sum(seen), "last": seen[-1].shape}


def branches(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.sum() > 0 else x - 1


def prints_in_a_loop(x: torch.Tensor) -> torch.Tensor:
    for _ in range(10):
        x = x + 1
        print(end="")
        x = x * 2
    return x


def deep_break(x: torch.Tensor) -> torch.Tensor:
    def inner(y: torch.Tensor) -> torch.Tensor:
        print(end="")
        return y * 2

    def middle(y: torch.Tensor) -> torch.Tensor:
        return inner(y + 1) + 1

    return middle(x - 1).relu()


def managed(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x * 2
        print(end="")
        z = y + 1
    return z * x


def handled(x: torch.Tensor) -> torch.Tensor:
    try:
        y = x + 1
        raise ValueError("expected")
    except ValueError:
        return y * 2


def generated(x: torch.Tensor) -> torch.Tensor:
    def pieces() -> Any:
        for i in range(3):
            yield x[i] * i

    return torch.stack(list(pieces()))


def convolution(x: torch.Tensor, model: nn.Module) -> torch.Tensor:
    return functional.log_softmax(model(x).flatten(1), dim=-1)


def programs() -> dict[str, Program]:
    """Fresh arguments for each."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2))
    block = Block()
    x = torch.randn(4, 4)
    return {
        "containers": (containers, (x, Options())),
        "branches": (branches, (x,)),
        "prints in a loop": (prints_in_a_loop, (x,)),
        "break two calls deep": (deep_break, (x,)),
        "break under no_grad": (managed, (x,)),
        "exception caught": (handled, (x,)),
        "generator": (generated, (x,)),
        "convolution, training": (convolution, (torch.randn(2, 1, 8, 8), net)),
        "transformer block": (lambda y: block(y), (torch.randn(2, 3, 16),)),
    }
