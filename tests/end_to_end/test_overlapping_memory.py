"""Inputs that overlap and are written, whatever way they came to share their memory, under backends that replace operations."""

from itertools import product

import pytest
import torch
from torch import nn
from torch._dynamo.backends.common import aot_autograd

from framesmith import frontend


def views(base):
    return base[:-1], base[1:]


def views_in_inference_mode(base):
    with torch.inference_mode():
        return views(base)


def view_and_base(base):
    return base, base[1:]


def data(base):
    one, other = torch.zeros(2), torch.zeros(2)
    one.data, other.data = views(base)
    return one, other


def data_of_one(base):
    other = torch.zeros(2)
    other.data = base[1:]
    return base, other


def detached_view(base):
    return base[:-1].detach(), base[1:]


def set_to(base):
    return base[:-1], torch.zeros(2).set_(base[1:])


def dlpack(base):
    return base, torch.from_dlpack(base)[1:]


def arrays(base):
    array = base.numpy()
    return torch.from_numpy(array[:-1]), torch.from_numpy(array[1:])


def other_dtype(base):
    return base[:-1], base.view(torch.int32)[1:]


def apart(base):
    return base[:2], base[2:]


def data_apart(base):
    other = torch.zeros(2)
    other.data = base[2:]
    return base[:2], other


WAYS = [
    views, views_in_inference_mode, view_and_base, data, data_of_one, detached_view, set_to, dlpack, arrays, other_dtype, apart, data_apart,
]  # fmt: skip


def write_both(one, other):
    one.add_(1)
    result = other * 2
    other.mul_(3)
    return one.sum() + result.sum()


def compiler_of_user(module, examples):
    return aot_autograd(fw_compiler=lambda inner, given: inner)(module, examples)


@pytest.mark.parametrize("backend", ["aot_eager", compiler_of_user])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("first", WAYS)
def test_memory_shared_in_one_way_and_then_in_another(first, dynamic, backend):
    place = WAYS.index(first)
    for second in (*WAYS[place - 1 : place + 1], WAYS[place - 5]):
        frontend.reset()
        compiled = frontend.compile(write_both, backend=backend, dynamic=dynamic)
        for make, size in product((first, second, first), (6, 8)):
            eager, base = torch.arange(float(size)), torch.arange(float(size))
            expected = write_both(*make(eager))
            assert torch.equal(compiled(*make(base)), expected)
            assert torch.equal(base, eager)


def test_a_parameter_gets_the_memory_of_a_buffer():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)
            self.register_buffer("count", torch.ones(2))

        def forward(self, x):
            self.count.add_(1)
            return self.linear(x) + self.count

    torch.manual_seed(0)
    eager = Model()
    module = Model()
    module.load_state_dict(eager.state_dict())
    compiled = frontend.compile(module, backend="aot_eager")
    for number in range(4):
        for one in (eager, module):
            if number == 2:
                one.linear.bias.data = one.count
        x, y = torch.ones(1, 2, requires_grad=True), torch.ones(1, 2, requires_grad=True)
        expected, found = eager(x), compiled(y)
        assert torch.equal(found, expected)
        expected.sum().backward(), found.sum().backward()
        assert torch.equal(x.grad, y.grad)
        assert all(
            torch.equal(a.grad, b.grad) for a, b in zip(eager.parameters(), module.parameters(), strict=True)
        )


def test_what_lies_apart_in_one_memory_is_compiled():
    given = []

    def backend(module, examples):
        given.append(module)
        return compiler_of_user(module, examples)

    flat = torch.arange(6.0)
    weights = [nn.Parameter(torch.zeros(2), requires_grad=False) for _ in range(3)]
    for place, weight in enumerate(weights):
        weight.data = flat[2 * place : 2 * place + 2]

    def step():
        for weight in weights:
            weight.mul_(2)

    frontend.compile(step, backend=backend)()
    assert torch.equal(flat, torch.arange(6.0) * 2)
    assert len(given) == 1
