"""A graph break: a parameter that has no data yet, of a module that is read and not called."""

import torch

LAYER = torch.nn.LazyLinear(2)


def program(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if LAYER.training else x


ARGUMENTS = (torch.ones(3),)
