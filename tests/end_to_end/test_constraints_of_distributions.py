"""Distributions check matrices by constraints that branch on tensors: one graph, which raises and answers as eager does."""

import pytest
import torch
from torch.distributions import MultivariateNormal, constraints

from framesmith import frontend

NAN = float("nan")
MATRICES = {
    "identity": torch.eye(2),
    "not symmetric": torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
    "not definite": torch.tensor([[1.0, 2.0], [2.0, 1.0]]),
    "semidefinite": torch.ones(2, 2),
    "nan": torch.tensor([[NAN, 2.0], [2.0, 1.0]]),
    "infinite": torch.full((2, 2), float("inf")),
    "not square": torch.ones(2, 3),
    "several": torch.stack([torch.eye(2), torch.ones(2, 2), -torch.eye(2)]),
    "several, one not symmetric": torch.stack([torch.eye(2), torch.tensor([[1.0, 2.0], [0.0, 1.0]])]),
    "none": torch.zeros(0, 2, 2),
    "none, not square": torch.zeros(0, 2, 3),
    "empty": torch.zeros(2, 0, 0),
    "one number": torch.tensor([[2.0]]),
    "a vector": torch.ones(3),
    "doubles": torch.eye(2, dtype=torch.float64),
    "ints": torch.eye(2, dtype=torch.int64),
    "requires gradients": torch.eye(2).requires_grad_(),
}


class Wide(constraints._Symmetric):
    """A constraint of the program, built on one of torch's."""

    def check(self, value):
        return super().check(value) & (value.abs().amax((-2, -1)) < 2)


def answers(matrix):
    checked = (
        constraints.symmetric,
        constraints.positive_semidefinite,
        constraints.positive_definite,
        Wide(),
    )
    return [one.check(matrix) for one in checked]


def density(matrix):
    normal = MultivariateNormal(torch.zeros(matrix.shape[-1]), matrix)
    return normal.log_prob(torch.ones(matrix.shape[-1])), normal.sample()


def outcome(function, matrix):
    torch.manual_seed(3)
    try:
        return [(repr(one.detach()), one.requires_grad) for one in function(matrix)]
    except (RuntimeError, ValueError, IndexError, NotImplementedError, ZeroDivisionError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", [answers, density])
@pytest.mark.parametrize("name", MATRICES)
def test_is_like_eager_in_one_graph(name, function, backend):
    compiled = frontend.compile(function, backend=backend, fullgraph=True)
    for matrix in (MATRICES[name], MATRICES["not symmetric"], MATRICES[name]):
        assert outcome(compiled, matrix) == outcome(function, matrix)


def test_other_values_of_one_size_share_a_graph():
    report = frontend.explain(answers)(MATRICES["identity"])
    assert len(report.graphs) == 1
    assert not report.breaks
