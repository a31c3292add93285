"""A graph break: the program asks where a tensor is in memory."""

import torch


def program(values: torch.Tensor) -> tuple[torch.Tensor, bool]:
    values = values.sin()
    is_aligned = values.data_ptr() % 4 == 0
    return values * 2, is_aligned


ARGUMENTS = (torch.ones(3),)
