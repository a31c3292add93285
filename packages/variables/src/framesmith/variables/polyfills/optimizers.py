"""Polyfills of functions of optimizers that do something else in a compiler: where a graph keeps tensors in the place of numbers."""

from collections.abc import Sequence

import torch

from framesmith.graph.python_numbers.numbers import as_number


def get_value(x: torch.Tensor | float) -> torch.Tensor | float:
    """The number as a tensor of Python's precision: what eager computes with `x.item()` is computed in float64 too. Of integers the
    number itself: tensors made of them have another precision."""
    if not isinstance(x, torch.Tensor) or x.device.type != "cpu":
        return x
    return as_number(x) if x.is_floating_point() else x.item()


def stack_if_compiling(x: Sequence[torch.Tensor | float]) -> torch.Tensor | Sequence[torch.Tensor | float]:
    """One tensor of the numbers that a graph keeps as tensors; eager hands over the numbers, which some may be: a part of the step
    ran natively."""
    if all(isinstance(one, torch.Tensor) for one in x):
        return torch.stack([one for one in x if isinstance(one, torch.Tensor)])
    return x
