"""A stack of equal layers, and ways to change one thing in one of them."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

SCALE = [1.0]


class Layer(nn.Module):
    def __init__(self, size: int = 6):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.first, self.second = nn.Linear(size, 8), nn.Linear(8, size)
        self.act: Any = F.gelu
        self.drop = nn.Dropout(0.0)
        self.register_buffer("mask", torch.ones(size))
        self.scale, self.power, self.flag = 0.5, 1, False
        self.table = {"bias": 0.25, "list": [1, 2]}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.second(self.act(self.first(self.norm(x))))
        y = self.drop(y) * self.mask * self.scale + self.table["bias"]
        if self.flag:
            y = y.relu()
        return x + y**self.power * SCALE[0]


class Twice(Layer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(super().forward(x))


class Tagged(nn.Linear):
    pass


class Stack(nn.Module):
    def __init__(self, count: int = 5):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(Layer() for _ in range(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def run(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x)


def double(module: nn.Module, args: Any, output: torch.Tensor) -> torch.Tensor:
    return output * 2


def replaced(x: torch.Tensor) -> torch.Tensor:
    return x * 3


def _replace_layer(model: Stack, place: int, layer: nn.Module) -> None:
    model.layers[place] = layer


def _tie(model: Stack, place: int) -> None:
    model.layers[place].first.weight = model.layers[0].first.weight


def _tie_inside(model: Stack, place: int) -> None:
    layer = model.layers[place]
    layer.first = layer.second = nn.Linear(6, 6)


def _grow(model: Stack, place: int) -> None:
    layer = model.layers[place]
    layer.first, layer.second = nn.Linear(6, 9), nn.Linear(9, 6)


def _share_storage(model: Stack, place: int) -> None:
    model.layers[place].norm.weight.data = model.layers[0].norm.weight.data


def _subclass_part(model: Stack, place: int) -> None:
    model.layers[place].first.__class__ = Tagged


CHANGES: dict[str, Callable[[Stack, int], Any]] = {
    "hook": lambda model, at: model.layers[at].register_forward_hook(double),
    "hook inside": lambda model, at: model.layers[at].first.register_forward_hook(double),
    "pre-hook": lambda model, at: model.layers[at].register_forward_pre_hook(
        lambda module, args: (args[0] + 1,)
    ),
    "eval": lambda model, at: model.layers[at].eval(),
    "dropout off": lambda model, at: model.layers[at].drop.eval(),
    "float": lambda model, at: setattr(model.layers[at], "scale", 0.75),
    "negative zero": lambda model, at: setattr(model.layers[at], "scale", -0.0),
    "int": lambda model, at: setattr(model.layers[at], "power", 2),
    "int as float": lambda model, at: setattr(model.layers[at], "power", 1.0),
    "flag": lambda model, at: setattr(model.layers[at], "flag", True),
    "new attribute": lambda model, at: setattr(model.layers[at], "extra", 1),
    "activation": lambda model, at: setattr(model.layers[at], "act", F.relu),
    "activation module": lambda model, at: setattr(model.layers[at], "act", nn.GELU()),
    "dict value": lambda model, at: model.layers[at].table.update(bias=0.5),
    "dict shared": lambda model, at: setattr(model.layers[at], "table", model.layers[0].table),
    "forward on the instance": lambda model, at: setattr(model.layers[at], "forward", replaced),
    "subclass": lambda model, at: setattr(model.layers[at], "__class__", Twice),
    "subclass of a part": _subclass_part,
    "buffer value": lambda model, at: model.layers[at].mask.mul_(2),
    "buffer dtype": lambda model, at: setattr(model.layers[at], "mask", model.layers[at].mask.double()),
    "buffer shape": lambda model, at: setattr(model.layers[at], "mask", torch.ones(1)),
    "buffer with grad": lambda model, at: model.layers[at].mask.requires_grad_(),
    "frozen": lambda model, at: model.layers[at].first.weight.requires_grad_(False),
    "strides": lambda model, at: setattr(
        model.layers[at].first,
        "weight",
        nn.Parameter(model.layers[at].first.weight.detach().t().contiguous().t()),
    ),
    "no bias": lambda model, at: setattr(model.layers[at].first, "bias", None),
    "wider": _grow,
    "tied": _tie,
    "tied inside": _tie_inside,
    "one storage": _share_storage,
    "the same layer": lambda model, at: _replace_layer(model, at, model.layers[0]),
    "another layer": lambda model, at: _replace_layer(model, at, Layer()),
    "another class": lambda model, at: _replace_layer(model, at, nn.Linear(6, 6)),
    "removed": lambda model, at: model.layers.__delitem__(at),
    "one more": lambda model, at: model.layers.append(Layer()),
    "global": lambda model, at: SCALE.__setitem__(0, SCALE[0] + 1.0),
}
