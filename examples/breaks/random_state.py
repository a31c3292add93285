"""A graph break: reading or writing the state of a random number generator."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    torch.manual_seed(0)
    return values + torch.rand(3)


ARGUMENTS = (torch.ones(3),)
