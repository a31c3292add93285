"""A graph break: gradients through operations that ran before the graph."""

import torch


def program(doubled: torch.Tensor) -> torch.Tensor:
    (doubled * doubled).sum().backward()
    return doubled.detach() * 3


ARGUMENTS = (torch.ones(3, requires_grad=True) * 2,)
