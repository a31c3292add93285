"""Polyfills of collectives of `torch.distributed` that write to their arguments: a functional collective, and a copy.

A functional one begins; `write_whole` and `write_rows` wait for it. `group` is the name of a process group, `op` that of a reduction. The functional ones are torch's operators, which all its
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


def all_reduce(tensor: Tensor, op: str, group: str) -> Tensor:
    """What `dist.all_reduce(tensor)` begins."""
    return _all_reduce(tensor, op, group)


def broadcast(tensor: Tensor, source: int, group: str) -> Tensor:
    """What `dist.broadcast(tensor, source)` begins; `source` is a rank in the group."""
    return _broadcast(tensor, source, group)


def all_gather(tensor: Tensor, size: int, group: str) -> Tensor:
    """What `dist.all_gather(tensors, tensor)` begins, of tensors of one shape."""
    # With a dimension more the results are stacked, so each process has one row.
    return _all_gather(tensor.unsqueeze(0), size, group)


def all_gather_single(tensor: Tensor, size: int, group: str) -> Tensor:
    """What `dist.all_gather_single(output, tensor)` begins: the tensors of all processes put together."""
    return _all_gather(tensor, size, group)


def reduce_scatter_single(tensor: Tensor, op: str, size: int, group: str) -> Tensor:
    """What `dist.reduce_scatter_single(output, tensor)` begins: the tensor is `size` outputs put together."""
    return _reduce_scatter(tensor, op, size, group)


def all_to_all_single(tensor: Tensor, sizes: list[int], given: list[int], group: str) -> Tensor:
    """What `dist.all_to_all_single(output, tensor)` begins, with the rows that come from and go to each process."""
    return _all_to_all(tensor, sizes, given, group)


def write_whole(outputs: Sequence[Tensor], begun: Tensor) -> bool:
    """Wait for what was begun, and write it to the one output. The result is that of `Work.wait`."""
    outputs[0].copy_(_wait(begun))
    return True


def write_rows(outputs: Sequence[Tensor], begun: Tensor) -> bool:
    """Wait for what was begun, and write a row to each output."""
    gathered = _wait(begun)
    for rank in range(len(outputs)):
        outputs[rank].copy_(gathered[rank])
    return True


def complete(
    begin: Callable[..., Tensor],
    write: Callable[[Sequence[Tensor], Tensor], bool],
    outputs: Sequence[Tensor],
    *arguments: object,
) -> None:
    """A collective that is not asynchronous."""
    write(outputs, begin(*arguments))


def inside_module(model: object) -> AbstractContextManager[None]:
    """`model._inside_ddp_forward()` of data parallel training."""
    return nullcontext()
