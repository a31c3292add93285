"""A graph break: gradients of a tensor with hooks."""

import torch


def program(weight: torch.Tensor) -> torch.Tensor:
    (weight * weight).sum().backward()
    return weight.grad * 3


WEIGHT = torch.ones(3, requires_grad=True)
WEIGHT.register_hook(lambda gradient: gradient.clamp(max=1))
ARGUMENTS = (WEIGHT,)
