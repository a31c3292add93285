"""A graph break: an operation that no graph can hold here."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.clone()
    values.resize_as_(torch.ones(2))
    return values.sin()


ARGUMENTS = (torch.ones(3),)
