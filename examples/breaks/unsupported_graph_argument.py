"""A graph break: an argument that cannot stand in a graph."""

import torch


class Options(list):
    """A list with a mind of its own."""


def program(values: torch.Tensor) -> torch.Tensor:
    return values.sin().reshape(Options([3, 1]))


ARGUMENTS = (torch.ones(3),)
