"""Numbers that eager reads out of tensors, which a graph keeps as tensors of Python's precision."""

import torch
from torch import fx


def as_number(tensor: torch.Tensor) -> torch.Tensor:
    """The number in a tensor, as optimizers read it with `item()`: what is computed with it is computed in float64 too."""
    return tensor.to(torch.float64)


def is_number(node: fx.Node) -> bool:
    """Whether eager has a number where the graph has this tensor: it is computed from nothing but such numbers."""
    todo, seen, found = [node], {node}, False
    while todo:
        one = todo.pop()
        if one.op != "call_function":
            return False
        if one.target is as_number:
            found = True
            continue
        before = [other for other in one.all_input_nodes if other not in seen]
        if not one.all_input_nodes:
            return False
        seen.update(before)
        todo += before
    return found
