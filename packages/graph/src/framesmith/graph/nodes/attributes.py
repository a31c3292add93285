"""Objects that belong to the graph itself: constant tensors, nested graphs. Inputs are in `inputs`."""

import re
from typing import final

import torch
from torch import fx

_NOT_A_NAME = re.compile(r"\W+", re.ASCII)


@final
class Attributes:
    """A module, the root of the GraphModule, that holds these objects. Invariant: one name per object, by identity."""

    def __init__(self) -> None:
        self.root = torch.nn.Module()
        self._names: dict[int, tuple[str, object]] = {}

    def name_of(self, value: object, hint: str) -> str:
        """The attribute's name; the object is added when it is new."""
        known = self._names.get(id(value))
        if known is not None:
            return known[0]
        stem = _NOT_A_NAME.sub("_", hint).strip("_") or "constant"
        stem = f"_{stem}" if stem[0].isdigit() else stem
        name, number = stem, 0
        # The second: it would hide a method of the module.
        while hasattr(self.root, name) or hasattr(fx.GraphModule, name):
            name, number = f"{stem}_{number}", number + 1
        if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
            self.root.register_buffer(name, value, persistent=False)
        else:
            setattr(self.root, name, value)
        # With the object, so that no other one gets its id.
        self._names[id(value)] = (name, value)
        return name
