"""Stages of equal layers, of which whole stages are repeated: guards, graphs and misses are those of the traced ones."""

import pytest
import torch
from tests.end_to_end.support import check
from torch import nn

from framesmith import frontend


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(6), nn.Linear(6, 6)

    def forward(self, x):
        return x + torch.relu(self.inner(self.norm(x)))


class Stage(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(count))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x * 0.5


class Net(nn.Module):
    def __init__(self, stages=4, count=6):
        super().__init__()
        torch.manual_seed(0)
        self.stages = nn.ModuleList(Stage(count) for _ in range(stages))

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return x


X = torch.randn(4, 6)


def guards_of(model, on):
    with frontend.config.patch(reuse_blocks=on), torch.no_grad():
        compiled = frontend.compile(model, backend="eager")
        compiled(X)
        return sorted(frontend.explain(compiled)().guards)


def test_stages_are_repeated_as_a_whole_from_the_third_on():
    before = frontend.counters["stats"]["repeated_blocks"]
    with torch.no_grad():
        frontend.compile(Net(), backend="eager")(X)
    # in the first stage 5 layers, in the second 6, two stages, and what is alike in the first layer
    assert 13 <= frontend.counters["stats"]["repeated_blocks"] - before <= 14


def tie_a_layer(model):
    model.stages[2].layers[3] = model.stages[0].layers[3]


def tie_a_weight(model):
    model.stages[2].layers[3].inner.weight = model.stages[0].layers[3].inner.weight


def tie_within(model):
    model.stages[2].layers[3] = model.stages[2].layers[4]


@pytest.mark.parametrize("change", [lambda model: None, tie_a_layer, tie_a_weight, tie_within])
def test_guards_are_those_of_traced_stages(change):
    model = Net()
    change(model)
    assert set(guards_of(model, True)) == set(guards_of(model, False))


def replace_norm(model, place):
    model.stages[place].layers[4].norm = nn.LayerNorm(6, eps=0.5)


def replace_weight(model, place):
    model.stages[place].layers[4].inner.weight = nn.Parameter(torch.ones(6, 6))


def drop_bias(model, place):
    model.stages[place].layers[4].inner.bias = None


def add_hook(model, place):
    model.stages[place].layers[4].register_forward_hook(lambda module, given, result: result + 1)


def shorten(model, place):
    model.stages[place].layers = model.stages[place].layers[:3]


def tie(model, place):
    model.stages[place].layers[4].inner.weight = model.stages[0].layers[1].inner.weight


CHANGES = [replace_norm, replace_weight, drop_bias, add_hook, shorten, tie]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_change_in_a_stage_is_noticed(change, place):
    calls = []

    def once(model, x):
        calls.append(1)
        if len(calls) <= 2:  # each world once
            torch.manual_seed(1)
            change(model, place)

    check(lambda model, x: model(x), Net(), X, change=once, calls=3)


@pytest.mark.parametrize("change", CHANGES)
def test_a_stage_that_differs_from_the_start(change):
    model = Net()
    torch.manual_seed(1)
    change(model, 2)
    check(lambda model, x: model(x), model, X)


class Wide(nn.Module):
    """A layer with six parts of one class, which are a smaller part of its operations."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(6, 6) for _ in range(6))

    def forward(self, x):
        return x + sum(torch.sin(part(x)) * torch.cos(x) for part in self.parts)


class Halves(nn.Module):
    """A layer whose few parts are nearly all of it."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Layer(), Layer()

    def forward(self, x):
        return self.second(self.first(x))


@pytest.mark.parametrize(("layer", "inner"), [(Wide, 5), (Halves, 1)])
def test_a_layer_of_repeated_parts_is_no_stage(layer, inner):
    """The second one is repeated as a whole, not entered."""
    torch.manual_seed(0)
    model = nn.Sequential(*(layer() for _ in range(4)))
    before = frontend.counters["stats"]["repeated_blocks"]
    with torch.no_grad():
        assert torch.equal(frontend.compile(lambda x: model(x), backend="eager")(X), model(X))
    assert frontend.counters["stats"]["repeated_blocks"] - before == inner + 3
