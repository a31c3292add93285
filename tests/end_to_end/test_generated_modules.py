"""Modules whose class torch.fx generates are called as other modules; forward-mode functions outside of forward mode."""

import copy

import pytest
import torch
from torch import fx, nn
from torch.autograd import forward_ad
from torch.fx import _pytree as fx_pytree
from torch.utils import _pytree

from framesmith import frontend


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("bias", torch.ones(4))

    def forward(self, x, scale=2.0):
        return self.linear(x).relu() * self.bias + scale


@pytest.fixture
def generated():
    torch.manual_seed(0)
    return fx.symbolic_trace(Scaled())


def outcome(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error), str(error)


def assert_same(function, compiled, *args):
    expected, found = outcome(function, *args), outcome(compiled, *args)
    assert type(expected) is type(found)
    if isinstance(expected, torch.Tensor):
        assert torch.equal(expected, found)
    else:
        assert expected == found


def test_a_generated_module_is_called_in_the_graph(generated):
    inner = fx.symbolic_trace(nn.Sequential(nn.Linear(4, 5), nn.ReLU()))

    def f(x):
        return inner(generated(x, scale=3.0)) + 1

    compiled = frontend.compile(f, backend="eager", fullgraph=True)
    for size in (2, 3, 5, 0, 1):
        assert_same(f, compiled, torch.ones(size, 4))


def test_its_gradients_are_those_of_eager(generated):
    other = copy.deepcopy(generated)
    compiled = frontend.compile(lambda x: generated(x).sum(), backend="eager", fullgraph=True)
    for size in (2, 3):
        compiled(torch.ones(size, 4)).backward()
        other(torch.ones(size, 4)).sum().backward()
    for one, two in zip(generated.parameters(), other.parameters(), strict=True):
        assert torch.equal(one.grad, two.grad)


def test_hooks_and_a_changed_graph_are_seen(generated):
    def f(x):
        return generated(x)

    compiled = frontend.compile(f, backend="eager", fullgraph=True)
    x = torch.randn(3, 4)
    assert_same(f, compiled, x)
    handle = generated.register_forward_hook(lambda module, args, result: result * 2)
    assert_same(f, compiled, x)
    handle.remove()
    for node in generated.graph.nodes:
        node.target = "tanh" if node.target == "relu" else node.target
    generated.recompile()
    assert_same(f, compiled, x)


def test_its_errors_are_those_of_eager(generated):
    def f(x):
        return generated(x) + 1

    compiled = frontend.compile(f, backend="eager")
    for size in (7, 4, 6):
        assert_same(f, compiled, torch.ones(3, size))


def test_trees_flatten_by_the_specification_of_fx():
    spec = _pytree.tree_structure(((1, {"a": 2}), {}))

    def f(x):
        one, two = fx_pytree.tree_flatten_spec(((x, {"a": x + 1}), {}), spec)
        return one * two

    compiled = frontend.compile(f, backend="eager", fullgraph=True)
    for size in (2, 3):
        assert_same(f, compiled, torch.ones(size))


def test_no_tensor_is_dual_outside_of_forward_mode():
    def f(x):
        found = forward_ad.unpack_dual(x)
        return found.tangent is None, found.primal is x

    compiled = frontend.compile(f, backend="eager", fullgraph=True)
    x = torch.ones(3)
    assert compiled(x) == f(x) == (True, True)


def test_a_dual_tensor_is_unpacked_in_forward_mode():
    def f(x):
        return forward_ad.unpack_dual(x).tangent

    compiled = frontend.compile(f, backend="eager")
    assert compiled(torch.ones(3)) is None
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(3), torch.full((3,), 2.0))
        assert torch.equal(compiled(dual), f(dual))
        assert compiled(torch.ones(3)) is None
    assert compiled(torch.ones(3)) is None
