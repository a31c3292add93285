"""A graph break: too many nested calls."""

import torch


def deeper(values: torch.Tensor, depth: int) -> torch.Tensor:
    return values if depth == 0 else deeper(values + 1, depth - 1)


def program(values: torch.Tensor) -> torch.Tensor:
    return deeper(values, 400)


ARGUMENTS = (torch.ones(3),)
