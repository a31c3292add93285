"""Views that a graph takes where gradients are off, of what requires them, and uses where they are on.

with torch.no_grad(): t = h.view(-1)
return t * 2                    eager: `t` requires gradients, and is a leaf of its own; AOTAutograd: a constant

    leaf = base[1:].requires_grad_()
    with torch.no_grad(): t = leaf[0]
    return t * 2                    eager: a constant, since `t` is a view of `base`; AOTAutograd: a gradient for the leaf
"""

import torch
from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in


def uses_unrecorded_views(graph: fx.Graph) -> bool:
    """Whether an operation of a closed graph that is differentiated reads such a view, or there is one of a leaf that is a view."""
    inputs = [node.meta.get(EXAMPLE) for node in graph.find_nodes(op="placeholder")]
    bases = {id(one._base) for one in tensors_in(inputs) if one.requires_grad and one._is_view()}
    for node in graph.nodes:
        if node.op not in ("call_function", "call_method"):
            continue
        value = node.meta.get(EXAMPLE)
        if _is_unrecorded_view(value) and any(map(_is_computed, node.users)):
            return True
        if bases and any(id(one._base) in bases and not one.requires_grad for one in tensors_in(value)):
            return True
    return False


def _is_unrecorded_view(value: object) -> bool:
    return any(one.requires_grad and one._is_view() and _begins_history(one) for one in tensors_in(value))


def _is_computed(user: fx.Node) -> bool:
    """Whether a user gives what has a history."""
    return user.op != "output" and any(
        one.requires_grad and not _begins_history(one) for one in tensors_in(user.meta.get(EXAMPLE))
    )


def _begins_history(tensor: torch.Tensor) -> bool:
    try:
        return tensor.is_leaf
    except RuntimeError:  # a view whose memory was written to since, in a way that autograd forbids
        return False
