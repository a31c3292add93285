"""A graph break: a context manager that is not modelled."""

import torch
from torch.overrides import BaseTorchFunctionMode


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    with BaseTorchFunctionMode():
        values = values.cos()
    return values * 2


ARGUMENTS = (torch.ones(3),)
