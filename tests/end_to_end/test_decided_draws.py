"""Dropout with a probability that decides everything: the random numbers drawn afterwards are those of eager."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from framesmith import frontend

ATTENTION = {p: nn.MultiheadAttention(4, 2, dropout=p) for p in (0.0, 0.5, 1.0)}
DRAWS = {
    "function": lambda x, p: F.dropout(x, p),
    "operator": lambda x, p: torch.dropout(x, p, True),
    "keywords": lambda x, p: F.dropout(x, training=True, p=p),
    "in place": lambda x, p: F.dropout(x.clone(), p, inplace=True),
    "module": lambda x, p: nn.Dropout(p)(x),
    "not in training": lambda x, p: F.dropout(x, p, False),
    "channels": lambda x, p: F.dropout1d(x, p),
    "alpha": lambda x, p: F.alpha_dropout(x, p),
    "native": lambda x, p: torch.native_dropout(x, p, True)[0],
    "attention": lambda x, p: F.scaled_dot_product_attention(x[None], x[None], x[None], dropout_p=p),
    "attention module": lambda x, p: ATTENTION[p](x, x, x)[0],
}


def drawn(function, probabilities, needs_gradient):
    found = []
    for p in probabilities:
        torch.manual_seed(0)
        x = torch.arange(12.0).view(3, 4).requires_grad_(needs_gradient)
        found.append((repr(function(x, p).tolist()), torch.rand(2).tolist()))
    return found


@pytest.mark.parametrize("needs_gradient", [True, False])
@pytest.mark.parametrize("name", DRAWS)
def test_the_numbers_drawn_afterwards_are_those_of_eager(name, needs_gradient):
    for probabilities in [(1.0, 0.5), (0.0, 0.5, 1.0, 0.0)]:
        compiled = frontend.compile(DRAWS[name], backend="aot_eager")
        expected = drawn(DRAWS[name], probabilities, needs_gradient)
        assert drawn(compiled, probabilities, needs_gradient) == expected
