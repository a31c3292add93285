"""A graph break: a context manager that is not modelled."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    with torch.inference_mode():
        values = values.cos()
    return values * 2


ARGUMENTS = (torch.ones(3),)
