"""A graph break: an operator that cannot run on fake tensors."""

import torch

LIBRARY = torch.library.Library("framesmith_examples", "FRAGMENT")
LIBRARY.define("twice(Tensor values) -> Tensor")
LIBRARY.impl("twice", lambda values: values * 2, "CPU")


def program(values: torch.Tensor) -> torch.Tensor:
    return torch.ops.framesmith_examples.twice(values.sin()).cos()


ARGUMENTS = (torch.ones(3),)
