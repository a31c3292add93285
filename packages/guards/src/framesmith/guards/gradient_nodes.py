"""Functions on the node with which autograd gives a leaf its gradient (`AccumulateGrad`).

Data parallel training registers such functions. torch has no question for them: a function is registered there, and
others in the same dictionary are seen, before it is removed again.

That takes microseconds, so it is asked again only when torch has registered any hook since. Functions that C++ hangs
there (the reducer of data parallel training) are not seen.
"""

import os
import threading
from typing import final

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.hooks import RemovableHandle


@final
class _Free:
    """The leaves, by id, that had no functions when torch had registered this many hooks. A new tensor with the id of one
    that died had none then either."""

    __slots__ = ("leaves", "registered")

    def __init__(self, registered: int) -> None:
        self.registered = registered
        self.leaves: set[int] = set()


class _Known:
    """What was found so far, and how many of torch's numbers of hooks the questions themselves have used."""

    free = _Free(-1)
    used = 0
    lock = threading.Lock()


def _renew_lock() -> None:
    """In a forked child: no thread that held the lock exists there."""
    _Known.lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


def has_node_hooks(leaf: torch.Tensor) -> bool:
    """Whether functions hang on the node of this leaf, which requires a gradient."""
    free = _Known.free
    # Without the lock: `free` is one object, whose leaves belong to its own count.
    if RemovableHandle.next_id - _Known.used == free.registered and id(leaf) in free.leaves:
        return False
    with _Known.lock:
        registered = RemovableHandle.next_id - _Known.used
        if registered != _Known.free.registered:
            _Known.free = _Free(registered)
        free = _Known.free
        found = leaf.requires_grad and _ask(leaf)
        if not found:
            free.leaves.add(id(leaf))
        return found


def _ask(leaf: torch.Tensor) -> bool:
    with (
        # The view that leads to the node has to be recorded, and no mode of the program may see it.
        _disable_current_modes(),
        torch._C.DisableTorchFunction(),
        torch.inference_mode(False),
        torch.enable_grad(),
    ):
        if leaf.is_inference():  # autograd sees it only beside an ordinary tensor, and its views never
            user = (leaf + torch.zeros((), dtype=leaf.dtype, device=leaf.device)).grad_fn
        else:
            user = leaf.view_as(leaf).grad_fn
    assert user is not None
    node = user.next_functions[0][0]
    assert node is not None
    found = False
    for register in (node.register_hook, node.register_prehook):
        handle = register(_do_nothing)
        hooks = handle.hooks_dict_ref()
        handle.remove()
        # Each of our own registrations takes a number too, which must not count as one of the program.
        _Known.used += 1
        found = found or bool(hooks)
    return found


def _do_nothing(*gradients: object) -> None:
    """The function that is registered for a moment; a backward pass of another thread may call it."""
