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
    parts, one = list[str](), source
    while True:
        if isinstance(one, Item):
            holder = namespace_name(one.base)
            if holder is not None:
                parts.append(f"G_{one.key}_" if holder == module else f"G_import_{holder}_{one.key}")
                break
            parts.append(f"_{one.key!r}_")
            one = one.base
        elif isinstance(one, InstanceItem | ClassDictItem | Attribute):
            parts.append(f"_{one.name}")
            one = one.base
        elif isinstance(one, Gradient):
            parts.append("_grad")
            one = one.base
        elif isinstance(one, Local | Global):
            parts.append(f"{'L' if isinstance(one, Local) else 'G'}_{one.name}_")
            break
        else:
            parts.append(f"L_{one.text()[:_LONGEST]}_")
            break
    parts.reverse()
    name = _NOT_A_NAME.sub("_", "".join(parts))
    # what `fx` makes of it, which it works out letter by letter
    lower = name[0].lower() + name[1:]
    return lower if lower.islower() else name
