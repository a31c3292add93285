"""A graph break: framesmith has a bug."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    return values.sin()  # stands for whatever made framesmith itself fail


ARGUMENTS = (torch.ones(3),)
