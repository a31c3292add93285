"""`backends.needed_operands`: which writes in place need what the input held."""

import pytest
import torch
from torch import fx

from framesmith.graph.backends import needed_operands
from framesmith.graph.nodes.arguments import EXAMPLE


def node_of(name, *operands):
    graph = fx.Graph()
    given = []
    for number, one in enumerate(operands):
        given.append(graph.placeholder(f"p{number}") if isinstance(one, torch.Tensor) else one)
        if isinstance(one, torch.Tensor):
            given[-1].meta[EXAMPLE] = one
    return graph.call_method(name, tuple(given))


LEAF = torch.ones(2, requires_grad=True)


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("sin_", (LEAF,), True),
        ("relu_", (LEAF,), False),
        ("mul_", (LEAF, 2), False),
        ("mul_", (LEAF, torch.ones(2)), False),
        ("mul_", (LEAF, LEAF), True),
        ("addcmul_", (LEAF, torch.ones(2), torch.ones(2)), True),
    ],
)
def test_the_gradient_needs_the_target(name, operands, expected):
    assert needed_operands._needs_target(node_of(name, *operands)) is expected
