"""A graph break: an operation that returns a Python value computed from the content of a tensor."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    if torch.equal(values, values * 1):
        return values.cos()
    return values


ARGUMENTS = (torch.ones(3),)
