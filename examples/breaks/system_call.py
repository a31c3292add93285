"""A graph break: call that reads or changes something outside of the program."""

import time

import torch


def program(values: torch.Tensor) -> tuple[torch.Tensor, bool]:
    values = values.sin()
    began = time.perf_counter()
    return values.cos(), began > 0.0


ARGUMENTS = (torch.ones(3),)
