"""Dropout that drops nothing gives its very operand, also where sizes vary."""

import pytest
import torch
from tests.end_to_end.support import check
from torch.nn import functional


def by_function(x):
    y = x * 2
    return functional.dropout(x, 0.0) is x, functional.dropout(y, 0) is y


def by_operator(x):
    y = x * 2
    return torch.dropout(x, 0.0, True) is x, torch.dropout(input=y, p=0.0, train=True) is y


def by_module(x):
    return torch.nn.Dropout(0.0)(x)


def outside_of_training(x):
    y = x * 2
    return functional.dropout(x, 0.5, training=False), torch.dropout(y, 0.5, False) is y


def native(x):
    y = torch.native_dropout(x, 0.0, True)[0]
    return y is x, y.add_(1), x


def with_a_chance(x):
    return functional.dropout(x, 0.5) is x


@pytest.mark.parametrize(
    "program", [by_function, by_operator, by_module, outside_of_training, native, with_a_chance]
)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dynamic", [None, True])
def test_the_result_is_the_operand(program, backend, dynamic):
    check(program, torch.ones(3, 4), backend=backend, options={"dynamic": dynamic})
