"""A graph break: call of a function that is not to be compiled."""

import torch

from framesmith import frontend


@frontend.disable
def helper(values: torch.Tensor) -> torch.Tensor:
    return values + 1


def program(values: torch.Tensor) -> torch.Tensor:
    return helper(values.sin()).cos()


ARGUMENTS = (torch.ones(3),)
