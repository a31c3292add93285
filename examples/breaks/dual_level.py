"""A graph break: a level of forward-mode differentiation that is not left in the graph."""

import torch
from torch.autograd import forward_ad


def program(x: torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
    with forward_ad.dual_level():
        y = forward_ad.make_dual(x, direction).sin()
        print("the level is open")
        return forward_ad.unpack_dual(y).tangent


ARGUMENTS = (torch.ones(3), torch.ones(3))
