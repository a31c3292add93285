"""A graph break: a hook on a gradient that is more than a computation on it."""

import torch

SEEN = []


def program(weight: torch.Tensor) -> torch.Tensor:
    handle = weight.register_hook(SEEN.append)  # a side effect
    (weight * weight).sum().backward()
    handle.remove()
    return weight.grad * 3


ARGUMENTS = (torch.ones(3, requires_grad=True),)
