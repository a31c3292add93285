"""Tensors between equal layers that get other sizes, strides or a history in place: each layer sees what it sees eagerly."""

import pytest
import torch
from tests.end_to_end.support import check
from torch import nn

from framesmith import frontend

CHANGES = {
    "transposed": lambda y: y.t_(),
    "one_more_dimension": lambda y: y.unsqueeze_(0) if y.dim() < 5 else y,
    "other_strides": lambda y: y.as_strided_((6, 6), (1, 6)),
    "other_data": lambda y: setattr(y, "data", y.data.t()),
    "a_leaf": lambda y: y.requires_grad_() if not y.requires_grad else y,
    "detached": lambda y: y.detach_(),
    "written": lambda y: y.mul_(2.0),
}


class Layer(nn.Module):
    """A layer that does not mind how its input is laid out."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        return self.linear(x).tanh() * 2


def layers(count=5):
    torch.manual_seed(0)
    return nn.ModuleList(Layer() for _ in range(count))


def shown(y):
    return y.shape, y.stride(), y.requires_grad, y.is_leaf


def changed_results(layers, x, change, every, detach):
    seen = []
    for index, layer in enumerate(layers):
        y = layer(x)
        seen.append(shown(y))
        if index % every == 0:
            CHANGES[change](y)
        seen.append(shown(y))
        x = y.detach() if detach else y
    return x, seen


def changed_arguments(layers, x, change, every, detach):
    seen = []
    for index, layer in enumerate(layers):
        copy = x.clone()
        y = layer(copy)
        seen.append(shown(y))
        if index % every == 0:
            CHANGES[change](copy)
        seen.append(shown(layer(copy)))
        x = y.detach() if detach else y
    return x.detach(), seen  # what was saved for a backward pass was written


def history_through_a_view(layers, x, change, every, detach):
    seen = []
    for index, layer in enumerate(layers):
        copy = x.detach().clone()
        row = copy[0]
        seen.append(shown(layer(copy)))
        if index % every == 0:
            row.mul_(layer.linear.bias)
        seen.append((shown(copy), shown(layer(copy))))
    return x, seen


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize("program", [changed_results, changed_arguments, history_through_a_view])
def test_layers_see_the_form_that_a_tensor_has_by_then(program, change, every, detach):
    check(program, layers(), torch.randn(6, 6), change, every, detach)
    with torch.no_grad():
        check(program, layers(), torch.randn(6, 6), change, every, detach)


def test_layers_are_repeated_where_contents_change():
    before = frontend.counters["stats"]["repeated_blocks"]
    with torch.no_grad():
        frontend.compile(changed_results, backend="eager")(layers(), torch.randn(6, 6), "written", 1, False)
    assert frontend.counters["stats"]["repeated_blocks"] - before >= 4


SHARED = torch.zeros(6)


class Reader(nn.Module):
    """A layer that reads the form of a tensor which is no part of it, and does not compute with it."""

    def __init__(self, held):
        super().__init__()
        self.linear, self.held = nn.Linear(6, 6), held

    def forward(self, x):
        tensor = SHARED if self.held is None else self.held[0]
        return self.linear(x).tanh(), shown(tensor)


def changed_elsewhere(layers, x, held, change, every):
    tensor, seen = SHARED if held is None else held[0], []
    for index, layer in enumerate(layers):
        x, form = layer(x)
        seen.append(form)
        if index % every == 0:
            tensor.unsqueeze_(0) if change == "unsqueezed" else tensor.as_strided_((6 - index,), (1,))
    tensor.as_strided_((6,), (1,))
    return x, seen


def replaced_by_the_program(layers, x, held, change, every):
    held[0] = torch.zeros(6)
    return changed_elsewhere(layers, x, held, change, every)


@pytest.mark.parametrize("change", ["unsqueezed", "shortened"])
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("program", [changed_elsewhere, replaced_by_the_program])
def test_layers_see_the_form_of_a_tensor_elsewhere(program, change, every):
    for held in ([torch.zeros(6)], None) if program is changed_elsewhere else ([torch.zeros(6)],):
        torch.manual_seed(0)
        check(program, nn.ModuleList(Reader(held) for _ in range(6)), torch.randn(2, 6), held, change, every)


class Writer(nn.Module):
    """A layer that gives a tensor of its own a history."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        out = torch.zeros(2, 6)
        out[:] = self.linear(x)
        return out.unsqueeze_(0)[0].tanh()


def test_layers_that_change_tensors_of_their_own_are_repeated():
    def stack(layers, x):
        for layer in layers:
            x = layer(x)
        return x

    torch.manual_seed(0)
    made, x = nn.ModuleList(Writer() for _ in range(6)), torch.randn(2, 6, requires_grad=True)
    check(stack, made, x)
    before = frontend.counters["stats"]["repeated_blocks"]
    frontend.compile(stack, backend="eager")(made, x)
    assert frontend.counters["stats"]["repeated_blocks"] - before >= 4
