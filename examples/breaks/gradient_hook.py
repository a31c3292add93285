"""A graph break: gradients of a tensor with hooks."""

import torch


def halve(gradient: torch.Tensor) -> torch.Tensor:
    return gradient / 2


def program(weight: torch.Tensor) -> torch.Tensor:
    handle = weight.register_hook(halve)
    (weight * weight).sum().backward()
    handle.remove()
    return weight.grad * 3


ARGUMENTS = (torch.ones(3, requires_grad=True),)
