"""A graph break: an operation whose output size depends on the content of a tensor."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    return values[values > 1].sin()


ARGUMENTS = (torch.arange(3.0),)
