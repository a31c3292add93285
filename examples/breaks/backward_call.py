"""A graph break: a call of backward() that does more than give leaves their gradients."""

import torch


def program(weight: torch.Tensor) -> torch.Tensor:
    doubled = weight * 2
    doubled.retain_grad()
    (doubled * doubled).sum().backward()
    return doubled.grad * 3


ARGUMENTS = (torch.ones(3, requires_grad=True),)
