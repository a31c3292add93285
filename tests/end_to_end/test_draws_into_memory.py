"""Random numbers that are drawn into memory which is not contiguous: each element gets the number that it gets in eager."""

import pytest
from tests.end_to_end.support import check_source

HEAD = """
import torch
import torch.nn.functional as F
def args(): return [torch.linspace(-1, 1, 24).reshape(6, 4)]
"""
DRAWS = [
    "x.bernoulli_(0.5)",
    "x.bernoulli_(torch.full((4, 6), 0.5))",
    "F.dropout(x, 0.5, inplace=True)",
    "F.dropout(x, 0.5, True, True)",
    "torch.dropout_(x, 0.5, True)",
    "F.alpha_dropout(x, 0.5, True)",
    "F.alpha_dropout(x, 0.5, True, True)",
    "F.feature_alpha_dropout(x, 0.5, True)",
    "F.rrelu(x, training=True)",
    "x.uniform_()",
    "x.normal_()",
    "x.exponential_()",
    "F.dropout(x, 0.5)",
    "torch.bernoulli(x * 0 + 0.5)",
    "torch.rand_like(x)",
]


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("layout", ["x.t()", "x.reshape(4, 6)", "x.repeat(2, 2)[::2, :4].t()"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_draws_into_memory_that_is_not_contiguous(draw: str, layout: str, backend: str) -> None:
    check_source(
        HEAD
        + f"def f(x):\n    x = {layout.replace('x.', 'x.detach().clone().')}\n    return {draw}, x, torch.rand(2)\n",
        backend=backend,
        calls=2,
    )
