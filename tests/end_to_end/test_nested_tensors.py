"""Nested tensors of the plain class, on which the native check of tensors aborts the process."""

import torch

from framesmith import frontend


def test_a_nested_parameter_is_a_miss():
    def double(p: torch.Tensor) -> torch.Tensor:
        return p * 2

    nested = torch.nn.Parameter(torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)]))
    dense = torch.nn.Parameter(torch.ones(2, 3))
    compiled = frontend.compile(double, backend="eager")
    for given in (dense, nested, dense, nested):
        result = compiled(given)
        assert result.is_nested == given.is_nested
        pairs = zip(result.unbind(), double(given).unbind(), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)
