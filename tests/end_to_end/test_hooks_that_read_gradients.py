"""Hooks that read the gradient of another tensor: before or after the same backward pass gives it one, as in eager."""

import pytest
from tests.end_to_end.support import check_source

PROGRAM = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
weight, bias, other = model[0].weight, model[2].bias, nn.Parameter(torch.ones(2))
other.grad = torch.ones(2)
def add(gradient, tensor):
    return gradient if tensor.grad is None else gradient + tensor.grad.sum()
def f(x):
    y = model[0](x)
    {lines}
    model[2](y).square().sum().backward()
    handle.remove()
    return y.detach()
def args(): return (torch.ones(2, 4),)
"""
READS = {
    "of a leaf": "model.zero_grad()\nhandle = weight.register_hook(lambda g: add(g, bias))",
    "of a leaf that is kept": "handle = weight.register_hook(lambda g: add(g, bias))",
    "of a value": "model.zero_grad()\nhandle = y.register_hook(lambda g: add(g, bias))",
    "of a value that is kept": "handle = y.register_hook(lambda g: add(g, weight))",
}
KNOWN = {
    "its own": "handle = weight.register_hook(lambda g: add(g, weight))",
    "of a tensor that gets none": "handle = weight.register_hook(lambda g: add(g, other))",
}


def program(lines):
    return PROGRAM.format(lines=lines.replace("\n", "\n    "))


@pytest.mark.parametrize("name", READS)
def test_a_gradient_that_the_same_pass_gives_is_that_of_its_time(name):
    check_source(program(READS[name]), calls=4, backward=False)


@pytest.mark.parametrize("name", KNOWN)
def test_any_other_gradient_is_read_in_the_graph(name):
    check_source(program(KNOWN[name]), calls=4, backward=False, breaks=0)
