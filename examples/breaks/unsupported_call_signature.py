"""A graph break: arguments in a form that is not modelled."""

import torch

from framesmith import frontend


@frontend.assume_constant_result
def norm(values: torch.Tensor) -> float:
    return float(values.abs().max())


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    # its result is taken as a constant, which needs arguments that are known while tracing
    return values / norm(values)


ARGUMENTS = (torch.ones(3),)
