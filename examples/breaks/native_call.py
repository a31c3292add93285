"""A graph break: call of a function that cannot be traced."""

import ctypes

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    size = ctypes.sizeof(ctypes.c_int)  # a C function without a rule
    return values.cos() * size


ARGUMENTS = (torch.ones(3),)
