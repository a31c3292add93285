"""A graph break: gradients of a tensor with hooks."""

import torch


def program(weight: torch.Tensor) -> torch.Tensor:
    square = weight * weight
    square.retain_grad()
    square.sin().sum().backward()
    return square.grad * 3


ARGUMENTS = (torch.ones(3, requires_grad=True),)
