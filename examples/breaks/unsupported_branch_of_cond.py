"""A graph break: a branch of torch.cond that is more than a computation on tensors."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    return torch.cond(
        values.sum() > 0,
        lambda given: given.clone().add_(1),  # a branch computes new tensors, and writes to none
        lambda given: given - 1,
        (values,),
    )


ARGUMENTS = (torch.ones(3),)
