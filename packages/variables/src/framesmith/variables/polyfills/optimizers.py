"""Polyfill of the function with which optimizers read a number out of a tensor, where a graph keeps the tensor."""

import torch

from framesmith.graph.numbers import as_number


def get_value(x: torch.Tensor | float) -> torch.Tensor | float:
    """The number as a tensor of Python's precision: what eager computes with `x.item()` is computed in float64 too."""
    if isinstance(x, torch.Tensor) and x.is_floating_point() and x.device.type == "cpu":
        return as_number(x)
    return x
