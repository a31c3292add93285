"""A graph break: a context manager that is not modelled."""

import torch
from torch.overrides import TorchFunctionMode


class Named(TorchFunctionMode):
    """Sees every operation, and does nothing else."""


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    with Named():
        values = values.cos()
    return values * 2


ARGUMENTS = (torch.ones(3),)
