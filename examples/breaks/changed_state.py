"""A graph break: gradients by functions that read what was changed since."""

import torch

SCALE = [2.0]


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        return x * SCALE[0]

    @staticmethod
    def backward(ctx: object, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * SCALE[0]


def program(weight: torch.Tensor) -> torch.Tensor:
    y = Scaled.apply(weight)
    SCALE[0] = 3.0
    (gradient,) = torch.autograd.grad(y.sum(), weight)
    return gradient * 3


ARGUMENTS = (torch.ones(3, requires_grad=True),)
