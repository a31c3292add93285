"""A graph break: a tensor subclass that cannot be traced."""

import torch


class Meters(torch.Tensor):
    """A tensor with a unit."""


def program(length: torch.Tensor) -> torch.Tensor:
    return length.sin() * 2


ARGUMENTS = (torch.ones(3).as_subclass(Meters),)
