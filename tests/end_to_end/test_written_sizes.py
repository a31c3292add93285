"""Sizes whose expressions have functions of floats: they are written into the graph where torch can trace them."""

import pytest
from tests.end_to_end.support import check_source

PROGRAM = """
import math
import torch

def f(x):
    y = {made}
    return y, y.shape[0], y + 1

def args():
    return (torch.ones(3),)
"""


@pytest.mark.parametrize("dynamic", [True, None])
@pytest.mark.parametrize(
    "made",
    [
        "torch.arange(float(x.shape[0]))",
        "torch.arange(x.shape[0] / 2)",
        "torch.ones(torch.arange(x.shape[0] / 3).shape[0] * 2)",
        "torch.arange(0, x.shape[0], 0.7)",
        "torch.zeros(int(x.shape[0] / 2))",
        "torch.zeros(round(x.shape[0] / 2))",
    ],
)
def test_a_size_that_is_rounded_is_that_of_eager(made: str, dynamic: bool | None) -> None:
    def grow(x):
        x.resize_(x.shape[0] + 1).fill_(1)

    check_source(PROGRAM.format(made=made), change=grow, options={"dynamic": dynamic})
