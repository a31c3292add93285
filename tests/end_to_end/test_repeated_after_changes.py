"""Equal layers in a trace that has changed other objects before: repeated where nothing changed since, right in any case."""

import pytest
import torch
from tests.end_to_end.support import check
from torch import nn

from framesmith import frontend

X = torch.randn(3, 4)


class Settings:
    """What a model and its layers share, or each has for itself."""

    def __init__(self):
        self.scale = 1.0
        self.calls = 0
        self.table = {"shift": 0.0}
        self.log = []
        self.inner = None
        self.hook = None


class Layer(nn.Module):
    """Reads all of its settings."""

    def __init__(self, config):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.config = config
        self.flag = False
        self.counts = False

    def forward(self, x):
        config = self.config
        x = self.linear(x) * config.scale + config.table["shift"] + len(config.log)
        if config.inner is not None:
            x = x + config.inner.scale
        if config.hook is not None:
            x = x + config.hook()
        if self.counts:
            config.calls += 1
            x = x * config.calls
        return -x if self.flag else x


class Model(nn.Module):
    """Sets something, calls its layers, sets something between them."""

    def __init__(self, own=False):
        super().__init__()
        torch.manual_seed(0)
        self.config = Settings()
        self.layers = nn.ModuleList(Layer(Settings() if own else self.config) for _ in range(5))

    def forward(self, x, before, between):
        before(self)
        for index, layer in enumerate(self.layers):
            x = layer(x)
            between(self, index)
        after = self.config.scale, self.config.calls, self.config.table["shift"], len(self.config.log)
        self.config.scale = 1.0
        self.config.table["shift"] = 0.0
        self.config.hook = None
        return x, after


def nothing(model, index=0):
    pass


def set_scale(model, index=0):
    model.config.scale = 2.0 + index


def set_same_scale(model, index=0):
    model.config.scale = 2.0


def set_table(model, index=0):
    model.config.table["shift"] = float(index + 1)


def new_log(model, index=0):
    model.config.log = []


def append_to_log(model, index=0):
    model.config.log.append(index)


def new_table(model, index=0):
    model.config.table = {"shift": 1.0}


def new_inner(model, index=0):
    model.config.inner = Settings()


def scale_inner(model, index=0):
    if model.config.inner is not None:
        model.config.inner.scale += 1


def set_first_own(model, index=0):
    model.layers[0].config.scale = 3.0


def set_second_own(model, index=0):
    model.layers[1].config.scale = 3.0


def flag_third(model, index=0):
    model.layers[2].flag = True


def unflag_third(model, index=0):
    model.layers[2].flag = False


def let_count(model, index=0):
    for layer in model.layers:
        layer.counts = True


def hook_with_cell(model, index=0):
    state = [0.5]
    cell = 0.5

    def hook():
        return cell + state[0]

    def turn():
        nonlocal cell
        cell += 1
        state[0] += 2

    model.config.hook = hook
    model.config.turn = turn


def turn_cell(model, index=0):
    if hasattr(model.config, "turn"):
        model.config.turn()


BEFORE = (
    nothing,
    set_scale,
    new_log,
    new_table,
    new_inner,
    set_first_own,
    set_second_own,
    flag_third,
    let_count,
)
BEFORE += (hook_with_cell, set_table)
BETWEEN = (
    nothing,
    set_scale,
    set_same_scale,
    set_table,
    append_to_log,
    new_table,
    scale_inner,
    set_second_own,
)
BETWEEN += (unflag_third, turn_cell, flag_third, new_inner)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("before", BEFORE)
def test_layers_see_what_was_changed(before, between, own):
    check(Model.forward, Model(own), X, before, between)


def repeats(model, *args):
    before = frontend.counters["stats"]["repeated_blocks"]
    frontend.compile(model, backend="eager")(*args)
    return frontend.counters["stats"]["repeated_blocks"] - before


@pytest.mark.parametrize("before", [set_scale, set_table, new_log, new_inner, hook_with_cell])
def test_layers_are_repeated_after_a_change(before):
    assert repeats(Model(), X, before, nothing) >= 3


@pytest.mark.parametrize("between", [set_scale, set_table, append_to_log])
def test_layers_that_read_a_change_are_traced_again(between):
    assert repeats(Model(), X, set_scale, between) <= 5  # the linear layers within, which read nothing of it
