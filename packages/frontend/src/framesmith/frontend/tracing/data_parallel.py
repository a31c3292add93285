"""Which `DistributedDataParallel` reduces the gradients of what is being traced, and how.

compile(DistributedDataParallel(model))    its `forward` is one of the frames when the graph of the model ends
DistributedDataParallel(compile(model))    torch notes that its `forward` runs
"""

from typing import Final

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from framesmith.frontend.tracing.machine import Frame, Machine
from framesmith.graph.options import GradientBuckets
from framesmith.variables.core import Lazy

_FIRST: Final[int] = getattr(dist, "_DEFAULT_FIRST_BUCKET_BYTES", 2**20)  # a build without processes has none
_FORWARD: Final = DistributedDataParallel.forward.__code__


def find_buckets(machine: Machine) -> GradientBuckets | None:
    """The buckets in which the gradients of the traced operations are reduced; None where nothing is."""
    if not dist.is_available():
        return None
    found = [one for frame in machine.frames if (one := _wrapper_of(frame)) is not None]
    wrapper = found[-1] if found else DistributedDataParallel._active_ddp_module
    if not isinstance(wrapper, DistributedDataParallel) or dist.get_world_size(wrapper.process_group) < 2:
        return None
    return buckets_of(wrapper)


def buckets_of(wrapper: DistributedDataParallel) -> GradientBuckets:
    """The buckets of a wrapper, as its reducer makes them once it has seen a backward pass."""
    size: int = wrapper.bucket_bytes_cap
    # the reducer begins early where the program says nothing about sizes
    first: int = _FIRST if wrapper.bucket_bytes_cap_default else size
    reduced = frozenset(
        id(one)
        for one in wrapper.module.parameters()
        if one.requires_grad and not getattr(one, "_ddp_ignored", False)
    )
    return GradientBuckets(reduced, first, size)


def _wrapper_of(frame: Frame) -> torch.nn.Module | None:
    """The wrapper whose `forward` a frame runs."""
    held = frame.locals.get("self") if frame.code is _FORWARD else None
    # what it is made no difference to the values that are computed, so it needs no guard
    value = held.peek if isinstance(held, Lazy) else getattr(held, "value", None)
    return value if isinstance(value, DistributedDataParallel) else None
