"""A graph break: a function under an operator that repeats it, which is more than a computation on tensors."""

import torch
from torch._higher_order_ops import scan


def program(values: torch.Tensor) -> torch.Tensor:
    def step(total: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return total + row, row[:1]  # a view of what it was given

    total, _ = scan(step, values[0] * 0, values)
    return total + 1


ARGUMENTS = (torch.ones(2, 3),)
