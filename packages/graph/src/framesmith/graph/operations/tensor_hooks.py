"""Hooks on gradients of values that a graph computes: it keeps a place for each, and the entry fills it after the graph.

    y.register_hook(hook)     graph: attach_hook(y, slot)     entry, after the graph: slot.fill(hook)

A place is taken in the graph since a hook belongs to the history that the tensor has at that moment: what changes it in place later
is differentiated before. Nothing runs the hook before it is there: a graph with hooks has no backward pass.
"""

from collections.abc import Callable, Iterator
from typing import final

import torch
from torch import fx
from torch.utils.hooks import RemovableHandle


@final
class HookSlot:
    """The place of one hook. Invariant: it is attached once, before it is filled."""

    __slots__ = ("handle",)
    handle: RemovableHandle

    def fill(self, hook: object) -> None:
        """Put the hook where `attach_hook` left a place; it is gone if nothing can be differentiated any more."""
        hooks = self.handle.hooks_dict_ref()
        if hooks is not None:
            hooks[self.handle.id] = hook


def attach_hook(tensor: torch.Tensor, slot: HookSlot) -> None:
    """Take a place for a hook. Raises TypeError where a backend traces the graph: what it makes would not run the hook."""
    if type(tensor) is not torch.Tensor:
        raise TypeError(f"a hook can be attached to a plain tensor only, not to {type(tensor).__name__}")
    register: Callable[[object], RemovableHandle] = tensor.register_hook  # torch's has no types
    slot.handle = register(_nothing_yet)


def _nothing_yet(gradient: torch.Tensor) -> None:
    """Stands in for a hook until the graph has run."""


def hooked(graph: fx.Graph) -> Iterator[fx.Node]:
    """The nodes after which a backward pass would have to run a hook, or to keep a gradient."""
    yield from graph.find_nodes(op="call_function", target=attach_hook)
    yield from graph.find_nodes(op="call_method", target="retain_grad")
