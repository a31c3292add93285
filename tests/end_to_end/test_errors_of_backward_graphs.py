"""An operation of the user that raises in the backward pass: the exception is the one that it raised, with its arguments."""

import pytest
import torch

from framesmith import frontend


@torch.library.custom_op("framesmith_tests::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@torch.library.custom_op("framesmith_tests::refused", mutates_args=())
def refused(x: torch.Tensor) -> torch.Tensor:
    raise ValueError("bad", 3)


@doubled.register_fake
@refused.register_fake
def _(x):
    return torch.empty_like(x)


doubled.register_autograd(lambda ctx, gradient: refused(gradient))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_the_exception_is_as_it_was_raised(backend):
    compiled = frontend.compile(lambda x: doubled(x) + 1, backend=backend)
    for _ in range(2):
        result = compiled(torch.ones(2, requires_grad=True)).sum()
        with pytest.raises(ValueError) as raised:
            result.backward()
        assert raised.value.args == ("bad", 3)
