"""A graph break: an operation on a value that is not modelled."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    number = memoryview(b"ab")[0]
    return values * number


ARGUMENTS = (torch.ones(3),)
