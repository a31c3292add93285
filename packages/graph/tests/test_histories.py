"""Which fakes no backward pass can start from, and that this is asked of all of them at once."""

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from framesmith.graph.fakes.histories import backward_errors

PASSES: list[int] = []


class Counted(torch.autograd.Function):
    """Counts the backward passes that run it."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor) -> torch.Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        PASSES.append(1)
        return gradients[0]


def test_those_that_cannot_be_differentiated_are_found_among_many() -> None:
    with FakeTensorMode():
        leaf = torch.ones(3, requires_grad=True)
        changed, used_up = leaf.exp(), leaf.sin()
        outputs = [leaf * 2, changed * 3, leaf.cos(), used_up, leaf + 1, leaf.detach()]
        changed.mul_(2)
        torch.autograd.grad([used_up.sum()], [leaf])
        errors = backward_errors(outputs)
    assert list(errors) == [1, 3]
    assert "modified by an inplace operation" in errors[1]
    assert "second time" in errors[3]


def test_one_pass_shows_that_all_can_be_differentiated() -> None:
    PASSES.clear()
    with FakeTensorMode():
        shared = Counted.apply(torch.ones(3, requires_grad=True))  # type: ignore[no-untyped-call]
        assert backward_errors([shared * factor for factor in range(20)]) == {}
    assert len(PASSES) == 1


def test_an_error_of_the_try_itself_says_nothing() -> None:
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: torch.Tensor) -> torch.Tensor:
            return value.clone()

        @staticmethod
        def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
            raise RuntimeError("not on fakes")

    with FakeTensorMode():
        leaf = torch.ones(3, requires_grad=True)
        failing = Failing.apply(leaf)  # type: ignore[no-untyped-call]
        assert backward_errors([leaf * 2, failing, leaf * 3]) == {}
