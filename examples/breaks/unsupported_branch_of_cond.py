"""A graph break: a branch of torch.cond that is more than a computation on tensors."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    found = torch.cond(
        values.sum() > 0,
        lambda given: {"result": given.sin()},  # a branch has to give tensors, or a tuple or list of them
        lambda given: {"result": given.cos()},
        (values,),
    )
    return found["result"] + 1


ARGUMENTS = (torch.ones(3),)
