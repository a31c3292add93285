"""Repeated blocks under inductor, which gets them as calls of one subgraph: results and gradients are those of eager."""

import copy

import pytest
import torch
from torch import nn

from framesmith import frontend

SIZE = 16


class Norm(nn.Module):
    """What the backward pass of the subgraph needs are its operands."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(SIZE))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Norm(), Norm()
        self.inner, self.outer = nn.Linear(SIZE, SIZE, bias=False), nn.Linear(SIZE, SIZE)

    def forward(self, x):
        x = x + self.inner(self.first(x))
        return x + self.outer(self.second(x))


def gradients(function, x, parameters):
    result = function(x)
    return result.detach(), torch.autograd.grad(result.square().mean(), [x, *parameters])


@pytest.mark.inductor
@pytest.mark.parametrize("shared", [True, False])
def test_gradients_through_shared_subgraphs_are_those_of_eager(monkeypatch, shared):
    monkeypatch.setattr(frontend.config, "shared_subgraphs", shared)
    torch.manual_seed(0)
    model, x = nn.Sequential(Residual(), Residual()), torch.randn(2, 4, SIZE, requires_grad=True)
    compiled = frontend.compile(copy.deepcopy(model))
    twin = [*compiled.parameters()]
    for _ in range(2):
        expected, found = gradients(model, x, [*model.parameters()]), gradients(compiled, x, twin)
        torch.testing.assert_close(found, expected)
        with torch.no_grad():
            for one, other in zip(model.parameters(), twin, strict=True):
                one.mul_(1.1)
                other.mul_(1.1)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x))
