"""What the nodes of functorch's transforms call: a traced body under `torch.vmap`, `torch.func.grad`, `vjp` or `jvp`.

A body takes its operands and returns a flat tuple of tensors. The results are flat tuples too; which of them belong
together is known to the trace. `which` are the positions of the operands that are differentiated.
"""

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import torch

Body: TypeAlias = Callable[..., tuple[torch.Tensor, ...]]
Pullback: TypeAlias = Callable[..., tuple[torch.Tensor, ...]]


def map_batched(
    body: Body,
    in_dims: Sequence[int | None],
    out_dims: Sequence[int | None],
    randomness: str,
    operands: Sequence[object],
) -> tuple[torch.Tensor, ...]:
    """The results of the body, stacked along `out_dims`."""
    transform: Any = torch.vmap  # typed for dimensions that are no None
    mapped = transform(body, tuple(in_dims), tuple(out_dims), randomness)
    result: tuple[torch.Tensor, ...] = mapped(*operands)
    return result


def differentiate(body: Body, which: Sequence[int], operands: Sequence[object]) -> tuple[torch.Tensor, ...]:
    """The gradients of the body's first result for the operands in `which`, then all results."""

    def split(*values: object) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        first, *rest = body(*values)
        return first, tuple(rest)

    transformed = torch.func.grad_and_value(split, tuple(which), has_aux=True)
    gradients, (value, rest) = transformed(*operands)
    return (*gradients, value, *rest)


def pull_back(
    body: Body, count: int, which: Sequence[int], operands: Sequence[object]
) -> tuple[tuple[torch.Tensor, ...], Pullback]:
    """The results of the body, and the function that maps gradients of the first `count` of them to those of the operands
    in `which`."""

    def split(*chosen: torch.Tensor) -> tuple[tuple[torch.Tensor, ...], tuple[torch.Tensor, ...]]:
        results = body(*_replaced(operands, which, chosen))
        return results[:count], results[count:]

    transform: Any = torch.func.vjp  # typed for results without further ones
    results, pullback, rest = transform(split, *(operands[index] for index in which), has_aux=True)
    return (*results, *rest), pullback


def call_pullback(pullback: Pullback, gradients: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The gradients of the operands."""
    return tuple(pullback(tuple(gradients)))


def push_forward(
    body: Body,
    count: int,
    which: Sequence[int],
    operands: Sequence[object],
    tangents: Sequence[torch.Tensor],
    strict: bool,
) -> tuple[torch.Tensor, ...]:
    """The first `count` results of the body, their tangents, then its other results. `tangents` are those of the operands in
    `which`."""

    def split(*chosen: torch.Tensor) -> tuple[tuple[torch.Tensor, ...], tuple[torch.Tensor, ...]]:
        results = body(*_replaced(operands, which, chosen))
        return results[:count], results[count:]

    chosen = tuple(operands[index] for index in which)
    transform: Any = torch.func.jvp  # typed as above
    values, derived, rest = transform(split, chosen, tuple(tangents), strict=strict, has_aux=True)
    return (*values, *derived, *rest)


def _replaced(
    operands: Sequence[object], which: Sequence[int], chosen: Sequence[torch.Tensor]
) -> list[object]:
    found = list(operands)
    for index, value in zip(which, chosen, strict=True):
        found[index] = value
    return found


@contextmanager
def keep_dispatch_keys() -> Iterator[None]:
    """Puts the thread's dispatch keys back at the end: where a transform of functorch fails on fakes, the frames in the
    traceback hold guards of C++ that change them whenever they die."""
    included, excluded = (
        torch._C._dispatch_tls_local_include_set(),
        torch._C._dispatch_tls_local_exclude_set(),
    )
    with torch._C._ForceDispatchKeyGuard(included, excluded):
        try:
            yield
        except Exception as error:
            reason: BaseException | None = error
            while reason is not None:
                # The guards die here, and the keys are put back after that.
                traceback.clear_frames(reason.__traceback__)
                reason = reason.__cause__ or reason.__context__
            raise
