"""A graph break: a torch.autograd.Function that is more than a computation on its arguments."""

import torch

SCALE = torch.full((3,), 2.0)


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values):
        return values * SCALE  # a tensor that is no argument

    @staticmethod
    def backward(ctx, gradient):
        return gradient * SCALE


def program(values: torch.Tensor) -> torch.Tensor:
    return Scale.apply(values.sin()).cos()


ARGUMENTS = (torch.ones(3, requires_grad=True),)
