"""Which inputs of a graph required gradients before the graph changed that (`x.requires_grad_()`).

When the graph raises, the trace is made once more (ADR 0015), and has to see what the first one saw. Not here: changes of a
shape, behind which nothing is recorded that may raise (`changes_form_of_input`).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import torch

Marks: TypeAlias = tuple[bool, ...]


def read_marks(*inputs: object) -> Marks:
    """Whether each input is a tensor that requires gradients."""
    with torch._C.DisableTorchFunction():
        return tuple(isinstance(value, torch.Tensor) and value.requires_grad for value in inputs)


@contextmanager
def restored_marks(inputs: Sequence[object], before: Marks) -> Iterator[None]:
    """For the duration of the block, leaves require gradients where they did `before`; a tensor that has got a history stays."""
    changed = [
        (value, mark)
        for value, mark, now in zip(inputs, before, read_marks(*inputs), strict=True)
        if isinstance(value, torch.Tensor) and mark != now and _is_leaf(value)
    ]
    for value, mark in changed:
        _mark(value, mark)
    try:
        yield
    finally:
        for value, mark in changed:
            _mark(value, not mark)


def _is_leaf(value: torch.Tensor) -> bool:
    with torch._C.DisableTorchFunction():
        return value.is_leaf


def _mark(value: torch.Tensor, requires_grad: bool) -> None:
    with torch._C.DisableTorchFunction():
        value.requires_grad_(requires_grad)
