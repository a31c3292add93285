"""A graph break: graph_break() was called."""

import torch

from framesmith import frontend


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    frontend.graph_break()
    return values.cos()


ARGUMENTS = (torch.ones(3),)
