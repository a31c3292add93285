"""Polyfill of the function with which `torch.masked` fills what is masked out, where it defines a class in each call."""

from collections.abc import Callable

import torch
import torch.masked


def combine_input_and_mask(
    op: Callable[..., object], input: torch.Tensor, mask: torch.Tensor | None, *args: object
) -> torch.Tensor:
    """The input with the neutral element of the operation where the mask is false. For plain tensors: others break before."""
    if mask is None:
        return input
    kept = torch.masked._ops._input_mask(input, mask=mask)
    neutral = torch.masked._ops._reduction_identity(op.__name__, input, *args)
    return torch.masked._ops._where(kept, input, neutral)
