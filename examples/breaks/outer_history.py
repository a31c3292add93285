"""A graph break: gradients through operations that ran before the graph."""

import torch


def program(weight: torch.Tensor) -> torch.Tensor:
    doubled = weight * 2
    torch.manual_seed(0)  # a break: what comes next is another graph
    (doubled * doubled).sum().backward()
    return weight.grad * 3


ARGUMENTS = (torch.ones(3, requires_grad=True),)
