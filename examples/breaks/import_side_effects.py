"""A graph break: import of a module that is not loaded yet."""

import sys

import torch

sys.modules.pop("__phello__", None)


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    import __phello__  # noqa: PLC0415  # a first import inside of the function

    return values.cos() + len(__phello__.__name__)


ARGUMENTS = (torch.ones(3),)
