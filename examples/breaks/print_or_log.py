"""A graph break: printing, logging or warning."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    print("half way")
    return values.cos()


ARGUMENTS = (torch.ones(3),)
