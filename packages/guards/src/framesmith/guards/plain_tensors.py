"""Tensor classes whose attribute reads run no user code.

And how an attribute of any other tensor is read without running any. How a trace asks a class that overrides functions
of torch: `variables.subclasses`.
"""

from typing import Final

import torch

PLAIN_TENSORS: Final = frozenset({torch.Tensor, torch.nn.Parameter})


def read_unasked(tensor: torch.Tensor, name: str) -> object:
    """An attribute of an existing tensor; a class that overrides functions of torch is not asked."""
    with torch._C.DisableTorchFunction():
        found: object = getattr(tensor, name)
        return found
