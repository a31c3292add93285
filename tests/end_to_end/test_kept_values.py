"""Values that a graph returns only in case that an operation raises: no backward pass goes through them."""

import pytest
import torch
from torch import nn

from framesmith import frontend


def write_rows(x, used, other):
    """`doubled` is seen where a later write may fail; the result depends on it without a gradient."""
    doubled = torch.cat([other.exp(), other])
    rows = torch.zeros(2, 3)
    for index in range(2):
        row = torch.cat([x[index], x[index]])
        rows[index] = row[:3]
    return rows * used, doubled.detach()


@pytest.mark.parametrize(
    "backend", ["eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.inductor)]
)
def test_a_leaf_that_no_result_depends_on_has_no_gradient(backend):
    found = []
    for compiled in (write_rows, frontend.compile(write_rows, backend=backend)):
        used, other = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        rows, doubled = compiled(torch.arange(6.0).view(2, 3), used, other)
        rows.sum().backward()
        found.append((rows.detach(), doubled, used.grad, other.grad))
    eager, ours = found
    torch.testing.assert_close(ours[:3], eager[:3])
    assert eager[3] is None
    assert ours[3] is None


def test_kept_values_are_those_of_the_program_where_an_operation_raises():
    def fail_late(x, other, index):
        doubled = other * 2
        rows = torch.zeros(2, 3)
        try:
            for place in range(2):
                rows[place] = x[place]
            other.detach().add_(1)
            picked = rows[index]
        except IndexError as error:
            return doubled, str(error)
        return picked, ""

    results = []
    for compiled in (fail_late, frontend.compile(fail_late, backend="eager")):
        for place in (1, 5):
            other = nn.Parameter(torch.ones(3))
            value, text = compiled(torch.arange(6.0).view(2, 3), other, torch.tensor([place]))
            if value.requires_grad:
                value.sum().backward()
            results.append((value.detach(), text, other.detach(), other.grad))
    middle = len(results) // 2
    for eager, ours in zip(results[:middle], results[middle:], strict=True):
        assert eager[1] == ours[1]
        assert (eager[3] is None) == (ours[3] is None)
        torch.testing.assert_close(
            [one for one in ours if isinstance(one, torch.Tensor)],
            [one for one in eager if isinstance(one, torch.Tensor)],
        )
