"""A graph break: a call of numpy that torch's functions do not repeat."""

import numpy as np
import torch


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    steps = np.interp(values.numpy(), [0.0, 1.0], [0.0, 255.0])  # torch has no such function
    return values.cos() * torch.from_numpy(steps)


ARGUMENTS = (torch.ones(3),)
