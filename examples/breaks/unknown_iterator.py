"""A graph break: iterating over an iterator that is not modelled."""

import torch

NAMES = {"a", "bc"}


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    NAMES.add("def")
    for name in NAMES:  # where the set puts the new name is seen when it is stored
        values = values * len(name)
    return values


ARGUMENTS = (torch.ones(3),)
