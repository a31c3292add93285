"""The names of inputs in the graph: those that torch.compile gives them, for tools that look for parameters by name.

self.layers[0].weight    l_self_modules_layers_modules_0_parameters_weight_
"""

import inspect
import re
from dataclasses import dataclass
from types import CodeType
from typing import Final, final

from framesmith.guards.sources import Attribute, ClassDictItem, Global, InstanceItem, Item, Local
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.roots import namespace_name
from framesmith.guards.sources.tensors import Gradient

_NOT_A_NAME: Final = re.compile(r"[^a-zA-Z0-9]+")
_LONGEST: Final = 60
"""Of the text of a source that no such name says."""


@final
@dataclass(frozen=True, slots=True)
class CompiledFunction:
    """`module`: that of the compiled function, whose globals are named without it. `forward`: where a module was compiled, the code of
    its method, whose parameters name what the call of a module has in `self`, `args` and `kwargs`."""

    module: str = ""
    forward: CodeType | None = None

    @property
    def root(self) -> str:
        """Where a compiled module is read from, as torch writes it: `L['self']`, or `L['args'][0]` of a wrapper. Empty for a function."""
        code = self.forward
        if code is None or not code.co_varnames:
            return ""
        return f"L['{code.co_varnames[0]}']" + ("" if code.co_argcount else "[0]")

    def parameter(self, variable: str, key: object) -> str | None:
        """The name of what `variable` has at a key (of `self`, which has none: at all); None where that is a name itself."""
        code = self.forward
        if code is None or variable not in ("self", "args", "kwargs"):
            return None
        names, positional = code.co_varnames, code.co_argcount
        known = positional + code.co_kwonlyargcount
        if variable == "kwargs":
            is_rest = key not in names[:known] and code.co_flags & inspect.CO_VARKEYWORDS
            rest = names[known + bool(code.co_flags & inspect.CO_VARARGS)] if is_rest else ""
            return f"L_{rest}_{key}_" if rest else f"L_{key}_"
        place = 0 if variable == "self" else key + 1 if isinstance(key, int) else None
        if place is None:
            return None
        if place < positional:
            return f"L_{names[place]}_"
        has_rest = code.co_flags & inspect.CO_VARARGS
        return f"L_{names[known]}_{place - positional}_" if has_rest else None


_PLAIN: Final = CompiledFunction()


def placeholder_name(source: Source, function: CompiledFunction = _PLAIN) -> str:
    """What the input from a source is called. The graph makes it unique."""
    path, one = "", source
    while True:
        match one:
            case Item(base=Local(name="args" | "kwargs" as variable), key=key) if (
                name := function.parameter(variable, key)
            ) is not None:
                path = f"{name}{path}"
                break
            case Item(base=base, key=key):
                holder = namespace_name(base) if base.base is None else None
                if holder is not None:
                    is_own = holder == function.module
                    path = f"G_{key}_{path}" if is_own else f"G_import_{holder}_{key}{path}"
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
            case Local(name="self") if (name := function.parameter("self", None)) is not None:
                path = f"{name}{path}"
                break
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
