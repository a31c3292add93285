"""A graph break: an operation under a transform or mode that sees each operation."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Count(TorchDispatchMode):
    calls = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.calls += 1
        return function(*args, **kwargs or {})


def program(values: torch.Tensor) -> torch.Tensor:
    with Count() as count:
        values = values.sin()
    return values * count.calls


ARGUMENTS = (torch.ones(3),)
