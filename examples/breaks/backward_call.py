"""A graph break: a call of backward() that does more than give leaves their gradients."""

import torch


def program(weight: torch.Tensor) -> torch.Tensor:
    (weight * weight).sum().backward(create_graph=True)
    return weight.grad * 3


ARGUMENTS = (torch.ones(3, requires_grad=True),)
