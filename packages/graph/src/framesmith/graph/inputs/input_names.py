"""The names of inputs in the graph: those that torch.compile gives them, for tools that look for parameters by name.

self.layers[0].weight    l_self_modules_layers_modules_0_parameters_weight_
"""

import inspect
import re
from dataclasses import dataclass
from types import CodeType
from typing import Final, TypeAlias, final

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
_NAMED: Final = (InstanceItem, Attribute, ClassDictItem)
_Paths: TypeAlias = dict[int, tuple[Source, str]]
"""What names are made of, by the identities of sources, which are kept with it."""


def placeholder_name(source: Source, function: CompiledFunction = _PLAIN, known: _Paths | None = None) -> str:
    """What the input from a source is called. The graph makes it unique. `known`: what was found out for earlier inputs of the same
    function, since most have their bases in common."""
    path = _path_of(source, function, {} if known is None else known)
    name = _NOT_A_NAME.sub("_", path)
    # what `fx` makes of it, which it works out letter by letter
    lower = name[0].lower() + name[1:]
    return lower if lower.islower() else name


def _path_of(source: Source, function: CompiledFunction, known: _Paths) -> str:
    steps: list[Source] = []
    one: Source | None = source
    # not by recursion: a path may be long
    while one is not None and id(one) not in known:
        steps.append(one)
        one = one.base
    path = "" if one is None else known[id(one)][1]
    for step in reversed(steps):
        path = _extended(path, step, function)
        known[id(step)] = step, path
    return path


def _extended(path: str, step: Source, function: CompiledFunction) -> str:
    """The path of a source; `path` is that of its base."""
    if isinstance(step, Item):
        own = None if step.base.base is not None else _item_of_root(step, function)
        return f"{path}_{step.key!r}_" if own is None else own
    if isinstance(step, _NAMED):
        return f"{path}_{step.name}"
    match step:
        case Gradient():
            return f"{path}_grad"
        case Local(name="self") if (name := function.parameter("self", None)) is not None:
            return name
        case Local(name=name):
            return f"L_{name}_"
        case Global(name=name):
            return f"G_{name}_"
        case _:
            return f"L_{step.text()[:_LONGEST]}_"


def _item_of_root(item: Item, function: CompiledFunction) -> str | None:
    """The path of an item of a variable or a namespace, where it has one of its own."""
    key = item.key
    if isinstance(item.base, Local) and item.base.name in ("args", "kwargs"):
        return function.parameter(item.base.name, key)
    holder = namespace_name(item.base)
    if holder is None:
        return None
    return f"G_{key}_" if holder == function.module else f"G_import_{holder}_{key}"
