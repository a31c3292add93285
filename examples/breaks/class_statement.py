"""A graph break: a class is defined."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()

    class Half:
        factor = 0.5

    return values.cos() * Half.factor


ARGUMENTS = (torch.ones(3),)
