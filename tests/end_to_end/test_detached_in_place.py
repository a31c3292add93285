"""`detach_()`: the history of a value ends in the graph, as it ends in eager."""

import pytest
import torch
from tests.end_to_end.support import check
from torch import nn


def gives_itself(x):
    y = x * 2
    z = y.detach_()
    return y * x, z, z is y, y.requires_grad, y.is_leaf


def function_of_torch(x):
    y = x * 2
    return torch.detach_(y) * x, y


def a_leaf_again(x):
    y = (x * 2).detach_().requires_grad_()
    return y * 3, y


def without_gradients(x):
    with torch.no_grad():
        y = x * 2
        y.detach_()
    return y.add_(x)


def saved_before(x):
    y = x * 2
    z = y * y
    y.detach_()
    return z + y


def a_view(x):
    y = x * 2
    return y[0].detach_()


def views_made_before(x):
    y = x * 2
    v = y[0]
    y.detach_()
    return v * x, v.requires_grad, y


def an_existing_one(x):
    y = x.detach_()
    return y * 2


@pytest.mark.parametrize("program", [gives_itself, function_of_torch, a_leaf_again, without_gradients])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_new_tensor_is_detached_in_the_graph(program, backend):
    x = torch.randn(3, 4, requires_grad=True)
    breaks = 0 if backend == "eager" or program is not a_leaf_again else None
    check(program, x, backend=backend, breaks=breaks, tolerance=1e-6)


@pytest.mark.parametrize("program", [saved_before, a_view, views_made_before, an_existing_one])
def test_others_are_as_in_eager(program):
    # the backward pass of the first raises, where the harness does not expect it
    check(program, torch.randn(3, 4, requires_grad=True), backward=program is not saved_before)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)
        self.state = None

    def forward(self, x):
        state = torch.zeros(3, 4) if self.state is None else self.state
        found = []
        for step in range(4):
            state = self.cell(x, state)
            found.append(state)
            if step == 1:
                state.detach_()
        self.state = state.detach_()
        return torch.stack(found[:2]) + self.cell(x, state)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_truncated_backpropagation_is_one_graph(backend):
    check(Recurrent(), torch.randn(3, 4), backend=backend, breaks=0, tolerance=1e-6)
