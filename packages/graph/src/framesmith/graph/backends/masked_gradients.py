"""Stores whose gradient has a shape that depends on data: the rows that a mask chooses.

    y[mask] = image_features        the gradient of the features is grad[mask], of as many rows as the mask has truths

Eager computes it in the backward pass. AOTAutograd differentiates at once and knows no size for it: the operation runs natively
between two graphs. Where sizes may depend on data, as with `fullgraph=True`, it can, but not beside operations
in place: such a graph runs as it was captured.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import torch
from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.operations.purity import IMPURE

_STORES: Final = frozenset(["setitem", "__setitem__", "index_put", "index_put_"])
_FILLS: Final = frozenset(["index_fill", "index_fill_"])
_MASKS: Final = (torch.bool, torch.uint8)
_KEYWORDS: Final = ("values", "value")


def explain_masked_gradient(
    target: Callable[..., object] | str, args: Sequence[object], kwargs: Mapping[str, object]
) -> str | None:
    """Why the gradient of what is stored has a shape that depends on data; None where it has not. The arguments are nodes and
    constants."""
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    if name not in _STORES and name not in _FILLS:
        return None
    stored = next((kwargs[one] for one in _KEYWORDS if one in kwargs), None)
    if stored is None and len(args) > 2:
        stored = args[2 if name in _STORES else -1]
    fake = _fake_of(stored)
    if fake is None or not fake.requires_grad:
        return None
    if name in _FILLS:
        return "its gradient is that of each row that is filled, once"
    key = args[1] if len(args) > 1 else kwargs.get("indices")
    return "its gradient is made of the rows that the mask chooses" if _has_mask(key) else None


def has_masked_gradients(graph: fx.Graph) -> bool:
    """Whether a closed graph stores what requires gradients where a mask is true, and writes in place to what does: AOTAutograd does
    neither both at once nor the store in place."""
    written = [node for node in graph.nodes if _writes_with_history(node)]
    return bool(written) and any(
        node.op in ("call_function", "call_method")
        and explain_masked_gradient(node.target, node.args, node.kwargs) is not None
        and (_requires_gradient(node) or _requires_gradient(node.args[0]))
        for node in graph.nodes
    )


def _writes_with_history(node: fx.Node) -> bool:
    """Whether an operation in place leaves a tensor that requires gradients: not in a block without them."""
    return bool(node.meta.get(IMPURE)) and bool(node.args) and _requires_gradient(node.args[0])


def _fake_of(value: object) -> torch.Tensor | None:
    fake = value.meta.get(EXAMPLE) if isinstance(value, fx.Node) else value
    return fake if isinstance(fake, torch.Tensor) else None


def _requires_gradient(value: object) -> bool:
    fake = _fake_of(value)
    return fake is not None and fake.requires_grad


def _has_mask(key: object) -> bool:
    if isinstance(key, tuple | list):
        return any(map(_has_mask, key))
    fake = _fake_of(key)
    return fake is not None and fake.dtype in _MASKS
