"""The names of inputs in the graph: those that torch.compile gives them, for tools that look for parameters by name.

self.layers[0].weight    l_self_modules_layers_modules_0_parameters_weight_
"""

import re
from typing import Final

from framesmith.guards.sources import Attribute, ClassDictItem, Global, InstanceItem, Item, Local
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.roots import namespace_name
from framesmith.guards.sources.tensors import Gradient

_NOT_A_NAME: Final = re.compile(r"[^a-zA-Z0-9]+")
_LONGEST: Final = 60
"""Of the text of a source that no such name says."""


def placeholder_name(source: Source, module: str = "") -> str:
    """What the input from a source is called. The graph makes it unique. `module`: the module of the compiled function, whose globals are
    named without it."""
    path, one = "", source
    while True:
        match one:
            case Item(base=base, key=key):
                holder = namespace_name(base) if base.base is None else None
                if holder is not None:
                    path = f"G_{key}_{path}" if holder == module else f"G_import_{holder}_{key}{path}"
                    break
                path, one = f"_{key!r}_{path}", base
            case (
                InstanceItem(base=base, name=name)
                | Attribute(base=base, name=name)
                | ClassDictItem(base=base, name=name)
            ):
                path, one = f"_{name}{path}", base
            case Gradient(base=base):
                path, one = f"_grad{path}", base
            case Local(name=name):
                path = f"L_{name}_{path}"
                break
            case Global(name=name):
                path = f"G_{name}_{path}"
                break
            case _:
                path = f"L_{one.text()[:_LONGEST]}_{path}"
                break
    name = _NOT_A_NAME.sub("_", path)
    # what `fx` makes of it, which it works out letter by letter
    lower = name[0].lower() + name[1:]
    return lower if lower.islower() else name
