"""A graph break: a decision on a number that comes out of a tensor."""

import torch

OPTIONS = {"capture_scalar_outputs": True}


def program(count: torch.Tensor) -> torch.Tensor:
    number = (count * 2).item()
    if number > 3:
        return count + 1
    return count


ARGUMENTS = (torch.tensor(5),)
