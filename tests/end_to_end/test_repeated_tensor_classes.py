"""Layers that differ in a weight alone whose class derives from Parameter or Tensor: each computes with its own weight."""

import pytest
import torch
from torch import nn

from framesmith import frontend


class OwnParameter(nn.Parameter):
    """As libraries of quantised weights make them."""


class Silent(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


class Asked(torch.Tensor):
    pass


class Scale(nn.Module):
    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight


class Table(nn.Module):
    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.table = {"weights": [weight]}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.table["weights"][0]


WEIGHTS = {
    "p": nn.Parameter,
    "o": OwnParameter,
    "s": lambda value: value.as_subclass(Silent),
    "a": lambda value: value.as_subclass(Asked),
    "b": nn.Buffer,
}


@pytest.mark.parametrize("layer", [Scale, Table])
@pytest.mark.parametrize(
    "kinds", ["ooo", "poo", "popo", "opopoo", "psps", "sss", "aaa", "papa", "bbb", "ppppp"]
)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_each_layer_computes_with_its_own_weight(layer: type[nn.Module], kinds: str, backend: str) -> None:
    worlds = []
    for wrap in (lambda module: module, lambda module: frontend.compile(module, backend=backend)):
        weights = [WEIGHTS[kind](torch.full((1, 1), float(index + 2))) for index, kind in enumerate(kinds)]
        result = wrap(nn.Sequential(*[layer(weight) for weight in weights]))(torch.ones(1, 1))
        if result.requires_grad:
            result.sum().backward()
        worlds.append([result.item(), *(weight.grad for weight in weights)])
    assert worlds[0] == worlds[1]
