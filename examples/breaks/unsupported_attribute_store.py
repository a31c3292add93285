"""A graph break: an attribute is set on an object that is not modelled."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    values.requires_grad = True
    return values.cos()


ARGUMENTS = (torch.ones(3),)
