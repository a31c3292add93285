"""A graph break: arguments in a form that is not modelled."""

import torch


def scaled(values: torch.Tensor, factor: float) -> torch.Tensor:
    return values * factor


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    try:
        return scaled(values)  # an argument is missing: Python says so itself
    except TypeError:
        return values


ARGUMENTS = (torch.ones(3),)
