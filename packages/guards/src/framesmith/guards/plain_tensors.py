"""Classes of tensors that ask nobody when an attribute is read, and how an attribute of any other tensor is read.

How a trace asks a class that overrides functions of torch: `variables.subclasses`.
"""

from typing import Final

import torch

PLAIN_TENSORS: Final = frozenset({torch.Tensor, torch.nn.Parameter})


def read_unasked(tensor: torch.Tensor, name: str) -> object:
    """An attribute of an existing tensor; a class that overrides functions of torch is not asked."""
    with torch._C.DisableTorchFunction():
        found: object = getattr(tensor, name)
        return found
