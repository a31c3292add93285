"""What a tensor that wraps others holds: one tensor in two places, and tensors with gradients of their own."""

import pytest
import torch
from tests.end_to_end.wrapper_classes import Pair

from framesmith import frontend


def number(value):
    return torch.full((2,), float(value))


def doubled(pair):
    return pair * 2, pair.a is pair.b


def by_identity(pair):
    return pair + 1 if pair.a is pair.b else pair - 1


def same_and_different():
    one = number(1)
    return [Pair(one, one), Pair(number(3), number(5)), Pair(one, one), Pair(one, one.clone())]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("function", [doubled, by_identity])
def test_one_tensor_in_two_places(function, order, backend):
    compiled = frontend.compile(function, backend=backend)
    for pair in same_and_different()[::order]:
        assert repr(compiled(pair)) == repr(function(pair))


def weighted(x, pair):
    return (pair.b * x).sum()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_part_that_requires_gradients(backend):
    compiled, x = frontend.compile(weighted, backend=backend), number(2)
    for part in (number(1), torch.nn.Parameter(number(1)), torch.nn.Parameter(number(1)) * 1):
        pair = Pair(number(3), part)
        found, expected = compiled(x, pair), weighted(x, pair)
        assert found.requires_grad == expected.requires_grad
        assert found.item() == expected.item()
    weight = torch.nn.Parameter(number(1))
    compiled(x, Pair(number(3), weight)).backward()
    assert weight.grad.tolist() == [2.0, 2.0]
