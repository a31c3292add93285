"""A graph break: a tensor that has no fake counterpart."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    return values.dequantize().sin()


ARGUMENTS = (torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8),)
