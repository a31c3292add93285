"""Polyfills of collectives of `torch.distributed` that write to their arguments: a functional collective, and a copy.

`group` is the name of a process group, `op` that of a reduction. The functional ones are torch's operators, which all its
backends know; the copy is what makes them like those that the program calls.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch

Tensor = torch.Tensor


def _operator(name: str) -> Callable[..., Tensor]:
    """An operator by its name: a build of torch without process groups has none of them."""
    found: Callable[..., Tensor] | None = getattr(torch.ops._c10d_functional, name, None)
    return found or _missing


def _missing(*arguments: object) -> Tensor:
    raise NotImplementedError("torch was built without process groups")


_all_reduce = _operator("all_reduce")
_broadcast = _operator("broadcast")
_all_gather = _operator("all_gather_into_tensor")
_reduce_scatter = _operator("reduce_scatter_tensor")
_all_to_all = _operator("all_to_all_single")
_wait = _operator("wait_tensor")


def all_reduce(tensor: Tensor, op: str, group: str) -> None:
    """`dist.all_reduce(tensor)`."""
    tensor.copy_(_wait(_all_reduce(tensor, op, group)))


def broadcast(tensor: Tensor, source: int, group: str) -> None:
    """`dist.broadcast(tensor, source)`; `source` is a rank in the group."""
    tensor.copy_(_wait(_broadcast(tensor, source, group)))


def all_gather(tensors: Sequence[Tensor], tensor: Tensor, size: int, group: str) -> None:
    """`dist.all_gather(tensors, tensor)` of tensors of one shape."""
    # With a dimension more the results are stacked, so each process has one row.
    gathered = _wait(_all_gather(tensor.unsqueeze(0), size, group))
    for rank in range(size):
        tensors[rank].copy_(gathered[rank])


def all_gather_single(output: Tensor, tensor: Tensor, size: int, group: str) -> None:
    """`dist.all_gather_single(output, tensor)`: the tensors of all processes put together."""
    output.copy_(_wait(_all_gather(tensor, size, group)))


def reduce_scatter_single(output: Tensor, tensor: Tensor, op: str, size: int, group: str) -> None:
    """`dist.reduce_scatter_single(output, tensor)`: the tensor is `size` outputs put together."""
    output.copy_(_wait(_reduce_scatter(tensor, op, size, group)))


def all_to_all_single(output: Tensor, tensor: Tensor, sizes: list[int], given: list[int], group: str) -> None:
    """`dist.all_to_all_single(output, tensor)`, with the rows that come from and go to each process."""
    output.copy_(_wait(_all_to_all(tensor, sizes, given, group)))


def inside_module(model: object) -> AbstractContextManager[None]:
    """`model._inside_ddp_forward()` of data parallel training."""
    return nullcontext()
