"""What the text of a graph means by `torch.relu`: the operation that was captured, whatever is there when the graph runs.

fx writes operations of torch by their path. A program that replaces one, and calls the former in what it puts there, captures
the former, which the path no longer leads to:

    original = torch.relu
    torch.relu = lambda x: original(x) * 2        # captured: torch.relu(x) * 2
"""

from types import FunctionType
from typing import Final, cast, final

import torch
from torch import fx
from torch.fx.node import _get_qualified_name

_ROOT: Final = "torch"
_CONSTANTS: Final = {
    name: value
    for name, value in vars(torch).items()
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format)
}


@final
class PinnedNames:
    """A module of torch as one graph sees it: with the operations of the graph in their places.

    Also what else holds operations: a class (`torch.Tensor.sin`), an operator with its overloads.
    """

    def __init__(self, holder: object) -> None:
        self._framesmith_holder = holder

    def __getattr__(self, name: str) -> object:
        """What the graph does not call: a dtype, a layout, what a backend has put into the text."""
        return getattr(self._framesmith_holder, name)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """An operator that is called itself as well as one of its overloads."""
        holder = self._framesmith_holder
        assert callable(holder)
        return holder(*args, **kwargs)


def pin_names(module: fx.GraphModule) -> None:
    """Let the text of the module find the operations of its graph. Holds until somebody calls `recompile`."""
    space = cast(FunctionType, type(module).forward).__globals__
    # a text of ours names no module (`run_text`)
    if space.get(_ROOT) is not torch:
        return
    root = PinnedNames(torch)
    vars(root).update(_CONSTANTS)
    for target in dict.fromkeys(node.target for node in module.graph.nodes if node.op == "call_function"):
        assert callable(target)
        first, *path = _get_qualified_name(target).split(".")
        # for all others fx has put the object itself among the globals
        if first == _ROOT:
            _put(root, path[:-1], path[-1], target)
    space[_ROOT] = root


def _put(place: PinnedNames, inner: list[str], last: str, target: object) -> None:
    for name in inner:
        found = vars(place).get(name)
        if type(found) is not PinnedNames:
            found = vars(place)[name] = PinnedNames(getattr(place, name))
        place = found
    known = vars(place).get(last)
    if type(known) is PinnedNames:  # of its overloads
        known._framesmith_holder = target
    else:
        vars(place)[last] = target
