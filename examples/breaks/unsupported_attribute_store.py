"""A graph break: an attribute is set on an object that is not modelled."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    values.data = torch.zeros(3, dtype=torch.float64)
    return values.cos()


ARGUMENTS = (torch.ones(3),)
