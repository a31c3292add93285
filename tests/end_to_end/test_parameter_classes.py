"""Classes derived from `Parameter` with a `__torch_function__` that calls the one of `Parameter`, which is written in C."""

import pytest
import torch
import torch.nn.functional as F
from tests.end_to_end.support import check

from framesmith import frontend

ASKED: list[str] = []


class Loaded(torch.nn.Parameter):
    def __new__(cls, data, **_):
        return super().__new__(cls, data, requires_grad=False)

    def __init__(self, data, shard=0):
        self._shard = shard

    @property
    def shard(self):
        return self._shard

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        ASKED.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = Loaded(torch.arange(9.0).view(3, 3), shard=2)

    def forward(self, x):
        return F.linear(x, self.weight) * self.weight.shard + self.weight.sum()


WEIGHT = Loaded(torch.arange(9.0).view(3, 3))
PROGRAMS = [
    lambda x: F.linear(x, WEIGHT),
    lambda x: (WEIGHT + x, 3 * WEIGHT, x @ WEIGHT.T, WEIGHT[0]),
    lambda x: (type(WEIGHT.view(-1)).__name__, type(WEIGHT + x).__name__, WEIGHT.shape),
    lambda x: F.embedding(torch.tensor([0, 2]), WEIGHT) + x.sum(),
    lambda x: torch.add(x, other=WEIGHT, alpha=2),
    lambda x: (isinstance(WEIGHT, torch.nn.Parameter), WEIGHT.data + x),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    check(program, torch.rand(3, 3), breaks=0)


def test_a_layer():
    layer, x = Layer(), torch.rand(2, 3)
    compiled = frontend.compile(layer, backend="eager", fullgraph=True)
    expected = layer(x)
    assert torch.equal(compiled(x), expected)
    layer.weight._shard = 3
    assert torch.equal(compiled(x), Layer.forward(layer, x))


def test_what_the_class_is_asked():
    def program(x):
        return F.linear(x, WEIGHT) + WEIGHT.sum()

    compiled, x = frontend.compile(program, backend="eager", fullgraph=True), torch.rand(2, 3)
    noted = []
    for each in (program, compiled, compiled):
        ASKED.clear()
        each(x)
        noted.append([*ASKED])
    assert noted[0] == noted[1] == noted[2]


class Plain(torch.Tensor):
    """Inherits the default override."""


@pytest.mark.parametrize("tensor", [WEIGHT, torch.ones(3, 3).as_subclass(Plain)], ids=["parameter", "tensor"])
def test_lists_of_tensors_that_nothing_has_read(tensor):
    programs = [
        lambda x: torch.cat([tensor, x]),
        lambda x: torch.stack((x, tensor, x)).sum(),
        lambda x: torch.stack([*{"a": tensor}.values()]),
    ]
    for program in programs:
        compiled = frontend.compile(program, backend="eager", fullgraph=True)
        for x in (torch.rand(3, 3), torch.rand(3, 3)):
            assert repr(compiled(x)) == repr(program(x))


def test_lists_of_arguments():
    def program(one, other):
        return torch.cat([one, other])

    compiled = frontend.compile(program, backend="eager", fullgraph=True)
    plain, other = torch.ones(3), torch.ones(3).as_subclass(Plain)
    for operands in ((plain, other), (other, plain), (plain, plain), (other, other)):
        assert repr(compiled(*operands)) == repr(program(*operands))
