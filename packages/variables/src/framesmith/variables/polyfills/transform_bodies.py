"""What the polyfills of functorch's transforms leave to the trace: to make a nested graph of a function.

`run` takes the tensors and returns two nested structures of tensors and constants. There are rows for these functions
(`higher_order.transforms`); none of them is ever called.
"""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch

Run = Callable[..., tuple[Any, Any]]
"""A function that is traced; what it returns only the program knows, hence Any."""


def map_batched(
    run: Run, tensors: Sequence[torch.Tensor], in_dims: Sequence[int | None], randomness: str
) -> Any:
    """The first result of `run` under `torch.vmap`; the second one holds the dimension of each leaf of it."""
    raise AssertionError("traced only")


def differentiate(run: Run, tensors: Sequence[torch.Tensor], which: Sequence[int]) -> Any:
    """`(gradients, results)`: those of the first result for the tensors at `which`, and both results."""
    raise AssertionError("traced only")


def pull_back(run: Run, tensors: Sequence[torch.Tensor], which: Sequence[int]) -> Any:
    """`(results, pullback)`: both results, and what `call_pullback` takes."""
    raise AssertionError("traced only")


def call_pullback(pullback: object, gradients: Sequence[torch.Tensor]) -> Any:
    """The gradients of the differentiated tensors for those of the leaves of the first result."""
    raise AssertionError("traced only")


def push_forward(
    run: Run,
    tensors: Sequence[torch.Tensor],
    which: Sequence[int],
    tangents: Sequence[torch.Tensor],
    strict: bool,
) -> Any:
    """`(first result, its tangents, second result)`."""
    raise AssertionError("traced only")


def count_draws() -> int:
    """How many operations of the graph draw random numbers, in nested graphs as well."""
    raise AssertionError("traced only")


def refuse() -> NoReturn:
    """Break the graph: what comes next raises an error."""
    raise AssertionError("traced only")
