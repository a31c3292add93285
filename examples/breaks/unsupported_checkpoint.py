"""A graph break: a checkpointed function that is more than a computation on tensors."""

import torch
from torch.utils.checkpoint import checkpoint


def noisy(values: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.dropout(values.sin(), 0.5)


def program(values: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(0)
    return checkpoint(noisy, values, use_reentrant=False) * 2


ARGUMENTS = (torch.ones(3, requires_grad=True),)
