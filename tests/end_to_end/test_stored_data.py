"""`w.data *= mask`: what `w.data` gave is changed and stored again, which changes the memory of `w` alone."""

import pytest
import torch
from tests.end_to_end.support import check
from torch import nn


class Masked(nn.Conv2d):
    def __init__(self):
        super().__init__(1, 2, 3, padding=1)
        self.register_buffer("mask", (torch.arange(9) < 4).float().view(3, 3).expand_as(self.weight))

    def forward(self, x):
        self.weight.data *= self.mask
        return super().forward(x)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_masked_weights_are_one_graph(backend):
    check(
        nn.Sequential(Masked(), nn.ReLU()), torch.randn(1, 1, 4, 4), backend=backend, breaks=0, tolerance=1e-6
    )


def clipped(w):
    w.data = w.data.clamp_(-0.5, 0.5)
    return w * 2


def of_a_result(w):
    y = w * 3
    y.data += 1
    return y * w


def of_a_view(w):
    v = w[1:]
    v.data -= 1
    return v * w[0]


@pytest.mark.parametrize("program", [clipped, of_a_result, of_a_view])
def test_stores_of_the_same_memory_are_one_graph(program):
    check(program, torch.randn(3, 3, requires_grad=True), breaks=0)


def another_layout(w):
    data = w.data
    data.t_()
    w.data = data
    return w * 2, w.stride()


def other_memory_between(w):
    data = w.data
    w.data = torch.ones(3, 3)
    w.data = data
    return w * 2


def of_another(w, v):
    w.data = v.data
    return w * 2, v.add_(1)


@pytest.mark.parametrize("program", [another_layout, other_memory_between])
def test_other_data_is_as_in_eager(program):
    check(program, torch.randn(3, 3, requires_grad=True))


def test_the_data_of_another_is_as_in_eager():
    check(of_another, torch.randn(3, 3, requires_grad=True), torch.randn(3, 3))
