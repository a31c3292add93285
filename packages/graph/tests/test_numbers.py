"""Numbers that a graph keeps as tensors: computed as Python does, and known by what they are computed from."""

import math
import random

import pytest
import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from framesmith.graph.python_numbers import numbers


@pytest.mark.parametrize(
    ("function", "operation"), [(numbers.power, pow), (numbers.divide, lambda a, b: a / b)]
)
def test_results_are_those_of_python(function, operation) -> None:
    draw = random.Random(0)
    for _ in range(200):
        a, b = draw.uniform(0.5, 1), draw.uniform(1, 50)
        left, right = (torch.tensor(value, dtype=torch.float64) for value in (a, b))
        for result in (function(left, right), function(a, right), function(left, b)):
            assert result.dtype is torch.float64
            assert result.item() == operation(a, b)


def test_what_python_refuses_is_refused() -> None:
    with pytest.raises(ZeroDivisionError):
        numbers.divide(1.0, torch.tensor(0.0, dtype=torch.float64))
    assert math.isnan(numbers.power(torch.tensor(-2.0, dtype=torch.float64), 0.5).item())


def test_fakes_are_computed_by_torch() -> None:
    with FakeTensorMode():
        result = numbers.power(0.9, torch.ones((), dtype=torch.float64))
    assert (result.shape, result.dtype) == ((), torch.float64)


def test_only_arithmetic_on_numbers_gives_numbers() -> None:
    graph = fx.Graph()
    step = graph.placeholder("step")
    number = graph.call_function(numbers.as_number, (step,))
    computed = graph.call_function(numbers.divide, (0.1, number))
    tensor = graph.call_function(torch.as_tensor, (computed,))
    mixed = graph.call_function(numbers.power, (computed, step))
    found = [numbers.is_number(node) for node in (step, number, computed, tensor, mixed)]
    assert found == [False, True, True, False, False]
