"""Hooks on gradients of values that a graph computes: it keeps a place for each, and the entry fills it after the graph.

    y.register_hook(hook)     graph: attach_hook(y, slot)     entry, after the graph: slot.fill(hook)
    z.sum().backward()        graph: lend_hook(slot, body)    so that a backward pass in the graph runs the hook as a graph

A place is taken in the graph since a hook belongs to the history that the tensor has at that moment: what changes it in place later
is differentiated before. A backend that differentiates the graph gets the hook as a graph at once, and no place
(`attach_traced_hook`): it traces that as a part of the backward pass.
"""

from collections.abc import Callable, Iterator
from typing import final

import torch
from torch import fx
from torch.utils.hooks import RemovableHandle


@final
class HookSlot:
    """The place of one hook. Invariant: it is attached once, before it is filled. `run` serves until then."""

    __slots__ = ("handle", "run")
    handle: RemovableHandle

    def __init__(self) -> None:
        self.run: Callable[[torch.Tensor], object] | None = None

    def fill(self, hook: object) -> None:
        """Put the hook where `attach_hook` left a place; it is gone if nothing can be differentiated any more, or it was removed."""
        hooks = self.handle.hooks_dict_ref()
        if hooks is not None and self.handle.id in hooks:
            hooks[self.handle.id] = hook

    def reserve(self, leaf: torch.Tensor) -> RemovableHandle:
        """The handle of this place in the hooks of an existing leaf, which may require no gradient any more."""
        if not hasattr(self, "handle"):
            requires = leaf.requires_grad
            leaf.requires_grad_(True)
            self.handle = _register(leaf, _unchanged)
            leaf.requires_grad_(requires)
        return self.handle

    def register(self, leaf: torch.Tensor, hook: object) -> None:
        """Register the hook with an existing leaf."""
        self.reserve(leaf)
        self.fill(hook)


def attach_hook(tensor: torch.Tensor, slot: HookSlot) -> RemovableHandle:
    """Take a place for a hook. Raises TypeError where a backend traces the graph: what it makes would not run the hook."""
    if type(tensor) is not torch.Tensor:
        raise TypeError(f"a hook can be attached to a plain tensor only, not to {type(tensor).__name__}")

    def run(gradient: torch.Tensor) -> object:
        """Stands in for the hook until the graph has run."""
        return None if slot.run is None else slot.run(gradient)

    slot.handle = _register(tensor, run)
    return slot.handle


def lend_hook(slot: HookSlot, body: fx.GraphModule | None, *operands: object) -> None:
    """Let the hook in this place be `body(gradient, *operands)` for now; without a body it leaves the gradient as it is."""
    slot.run = _bind(body, operands)


def attach_traced_hook(
    tensor: torch.Tensor, body: fx.GraphModule | None, *operands: object
) -> RemovableHandle | None:
    """Register a hook that is `body(gradient, *operands)`."""
    # A backend that needs no gradients traces without them.
    return _register(tensor, _bind(body, operands)) if tensor.requires_grad else None


def remove_hook(handle: RemovableHandle | None) -> None:
    """`handle.remove()` of what was attached."""
    if handle is not None:
        handle.remove()


def _register(tensor: torch.Tensor, hook: object) -> RemovableHandle:
    register: Callable[[object], RemovableHandle] = tensor.register_hook  # torch's has no types
    return register(hook)


def _bind(body: fx.GraphModule | None, operands: tuple[object, ...]) -> Callable[[torch.Tensor], object]:
    run: Callable[..., object] = _unchanged if body is None else body.forward
    return lambda gradient: run(gradient, *operands)


def _unchanged(gradient: torch.Tensor, *operands: object) -> None:
    """A hook that leaves the gradient as it is."""


def hooked(graph: fx.Graph) -> Iterator[fx.Node]:
    """The nodes after which a backward pass runs a hook, or keeps a gradient."""
    for attach in (attach_hook, attach_traced_hook):
        yield from graph.find_nodes(op="call_function", target=attach)
    yield from retained(graph)


def retained(graph: fx.Graph) -> Iterator[fx.Node]:
    """The nodes after which a backward pass keeps a gradient."""
    yield from graph.find_nodes(op="call_method", target="retain_grad")
