"""The sign of a zero that is computed from an int which differs from call to call."""

import math
from collections.abc import Callable

import pytest
import torch

from framesmith import frontend

PRODUCTS: dict[str, Callable[[int], float]] = {
    "zero times": lambda k: 0.0 * k,
    "minus zero times": lambda k: -0.0 * k,
    "times zero": lambda k: k * 0.0,
    "negated": lambda k: -(k * 0.0),
    "of a difference": lambda k: (k - 5) * 0.0,
    "of a float": lambda k: float(k - 9) * 0.0,
    "and a sum": lambda k: 0.0 * k - 0.0,
    "of two factors": lambda k: k * 1.5 * 0,
    "zero at one call": lambda k: (k - 2) * -1.5,
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_signs(backend: str, name: str) -> None:
    product = PRODUCTS[name]

    def run(x: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        return x * product(k), torch.full((2,), product(k))

    compiled = frontend.compile(run, backend=backend)
    for k in (5, 6, 7, 2, 9, 1, 0, -3):
        ours, in_eager = compiled(torch.ones(2), k), run(torch.ones(2), k)
        for one, other in zip(ours, in_eager, strict=True):
            assert [(math.copysign(1, n), n) for n in one.tolist()] == [
                (math.copysign(1, n), n) for n in other.tolist()
            ]
