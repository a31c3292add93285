"""A graph break: a branch on the content of a tensor."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    if values.sum() > 0:
        return values.cos()
    return values


ARGUMENTS = (torch.ones(3),)
