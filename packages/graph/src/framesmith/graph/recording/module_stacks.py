"""The modules in whose calls an operation stands: `nn_module_stack` in the metadata of its node, as `torch.fx` has it.

    {"L__self___encoder": ("L['self'].encoder", Encoder), "L__self___encoder_layer_0": ("L['self'].encoder.layer.0", Layer)}

From the outermost call to the innermost: a name, where the module was read from, and its class.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import Final, TypeAlias

from framesmith.guards.sources import Global, Pinned
from framesmith.guards.sources.base import Source

ModuleStack: TypeAlias = Mapping[str, tuple[str, type]]
NO_MODULES: Final[ModuleStack] = MappingProxyType({})
SOURCE: Final = "source_fn_stack"
"""In the metadata of a node: its name, and the class of torch's own module whose code calls the operation, else the operation. Tools that
look for layers in a graph (`get_source_partitions`) go by it."""
_SELF: Final = "L['self']"
_NO_WORD: Final = re.compile(r"\W")


def enter(stack: ModuleStack, source: Source, cls: type, root: str = "") -> ModuleStack:
    """The stack in the call of the module at a source. `root`: the text of a compiled module itself, see `CompiledFunction`."""
    path = path_of(source)
    if root and path.startswith(_SELF):
        path = root + path[len(_SELF) :]
    return {**stack, _NO_WORD.sub("_", path): (path, cls)}


def path_of(source: Source) -> str:
    """Where a module is read from, with its root as torch writes it: `L['self'].encoder`, `G['model'].encoder`."""
    root, step, text = source, source, source.text()
    while root.base is not None:
        root, step = root.base, root
    start = root.text()
    if start.isidentifier() and not isinstance(root, Pinned):
        # a variable of a function around counts as one of its own
        place = "G" if isinstance(root, Global) else "L"
        return f"{place}['{start}']{text.removeprefix(start)}"
    # a global of another module is read from that
    if isinstance(root, Pinned) and isinstance(root.value, ModuleType | dict) and step is not root:
        first = step.text()
        return f"G['{first.rpartition('.')[2]}']{text.removeprefix(first)}"
    return text


def move(stack: ModuleStack, first: ModuleStack, now: ModuleStack) -> ModuleStack:
    """The stack of an operation in the call of another module like the first: `first` and `now` are the stacks in the two calls."""
    if stack.keys() <= first.keys():
        return dict(now)
    old, new = (list(one.values())[-1][0] if one else "" for one in (first, now))
    moved = dict(now)
    for name, (path, cls) in stack.items():
        if name not in first:
            is_inside = bool(old) and (path == old or path.startswith((f"{old}.", f"{old}[")))
            place = new + path.removeprefix(old) if is_inside else path
            moved[_NO_WORD.sub("_", place)] = place, cls
    return moved
