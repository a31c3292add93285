"""Everything a program can have read: walk from its function and its arguments, and name each value by its path.

The walk enters containers, closures, defaults, globals that the code names, instances and classes of the program, and
modules of torch. It does not enter modules, classes and functions of libraries: both worlds share them.
"""

import functools
import types
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from tests.end_to_end.compare import slots_of
from tests.end_to_end.worlds import World
from tests.perturbation.locations import Attribute, Cell, Default, Item, Location, Member

MINE = "program"
LIMIT = 3000
DEEP = 12
OPEN_PREFIXES = (
    "program",
    "types",
    "transformers.models",
    "transformers.configuration",
    "torch.nn",
    "torch.optim",
)
HIDDEN = {
    "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "_compiled_call_impl",
    "_is_full_backward_hook", "_backward_pre_hooks", "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
}  # fmt: skip
UNREAD = {
    "__module__",
    "__qualname__",
    "__dict__",
    "__weakref__",
    "__doc__",
    "__annotations__",
    "__firstlineno__",
}


@dataclass(frozen=True)
class Site:
    """A value, where it is held, and the path that names it in both worlds."""

    path: str
    value: Any
    location: Location


def codes_of(function: types.FunctionType) -> Iterator[types.CodeType]:
    """The code of a function and of what is defined inside."""
    pending = [function.__code__]
    while pending:
        code = pending.pop()
        yield code
        pending += [one for one in code.co_consts if isinstance(one, types.CodeType)]


def is_mine(value: Any) -> bool:
    """Whether a function or class was defined by the program, not by a library."""
    return getattr(value, "__module__", None) == MINE


class Walk:
    """One walk: `sites` in a fixed order, and what the code that was met names."""

    def __init__(self, world: World) -> None:
        self.sites: list[Site] = []
        self.functions: list[types.FunctionType] = []
        self.classes: list[type] = []
        self.objects: list[tuple[str, Any]] = []
        self._seen: dict[int, Any] = {}
        for index in range(len(world.args)):
            self._visit(f"args[{index}]", Item(world.args, index), 0)
        for key in world.kwargs:
            self._visit(f"kwargs[{key}]", Item(world.kwargs, key), 0)
        self._enter("f", world.function, Attribute(world, "function"), 0)

    def names(self) -> list[str]:
        """The names and the strings in the code of the program, in a fixed order."""
        found: dict[str, None] = {}
        for function in self.functions:
            for code in codes_of(function):
                texts = [one for one in code.co_consts if isinstance(one, str) and one.isidentifier()]
                found.update(dict.fromkeys([*code.co_names, *texts]))
        return list(found)

    def constants(self) -> list[Any]:
        """Strings and small integers in the code of the program: keys it may look up."""
        found: dict[Any, None] = {}
        for function in self.functions:
            for code in codes_of(function):
                found.update(
                    dict.fromkeys(
                        one for one in code.co_consts if type(one) in (str, int) and len(str(one)) < 12
                    )
                )
        return list(found)

    def _visit(self, path: str, location: Location, depth: int) -> None:
        if len(self.sites) >= LIMIT or depth > DEEP:
            return
        try:
            value = location.get()
        except (ValueError, AttributeError):  # an empty cell, an unset slot
            return
        if isinstance(value, types.ModuleType):
            return
        self.sites.append(Site(path, value, location))
        self._enter(path, value, location, depth + 1)

    def _enter(self, path: str, value: Any, location: Location, depth: int) -> None:
        composite = not isinstance(value, (int, float, complex, str, bytes, type(None)))
        if composite:
            if id(value) in self._seen:
                return
            self._seen[id(value)] = value
        if isinstance(value, (list, deque)):
            for index in range(min(len(value), 6)):
                self._visit(f"{path}[{index}]", Item(value, index), depth)
        elif isinstance(value, tuple):
            for index in range(min(len(value), 6)):
                self._visit(f"{path}[{index}]", Member(location, index), depth)
        elif isinstance(value, dict):
            for key in list(value)[:8]:
                self._visit(f"{path}[{key!r}]", Item(value, key), depth)
        if isinstance(value, types.FunctionType):
            self._function(path, value, depth)
        elif isinstance(value, (types.MethodType, classmethod, staticmethod)):
            self._enter(f"{path}.__func__", value.__func__, location, depth)
            if isinstance(value, types.MethodType):
                self._enter(f"{path}.__self__", value.__self__, location, depth)
        elif isinstance(value, property):
            self._enter(f"{path}.fget", value.fget, location, depth)
        elif isinstance(value, functools.partial):
            self._enter(f"{path}.func", value.func, location, depth)
            for key in value.keywords:
                self._visit(f"{path}.keywords[{key}]", Item(value.keywords, key), depth)
        elif isinstance(value, type):
            self._class(path, value, depth)
        elif not isinstance(value, torch.Tensor) or vars(value):
            self._instance(path, value, depth)

    def _function(self, path: str, function: types.FunctionType, depth: int) -> None:
        if function.__globals__.get("__name__") != MINE:
            return
        self.functions.append(function)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if name == "__classdict__":
                continue  # the class's own dict: what is stored there directly its caches do not see, eagerly either
            self._visit(f"{path}.<cell {name}>", Cell(cell), depth)
        for index in range(len(function.__defaults__ or ())):
            self._visit(f"{path}.__defaults__[{index}]", Default(function, index), depth)
        for key in function.__kwdefaults__ or {}:
            self._visit(f"{path}.__kwdefaults__[{key}]", Item(function.__kwdefaults__, key), depth)
        for key in vars(function):
            if not key.startswith("__"):
                self._visit(f"{path}.{key}", Attribute(function, key), depth)
        for code in codes_of(function):
            for name in code.co_names:
                if name in function.__globals__ and ("global", name) not in self._seen:
                    self._seen[("global", name)] = True
                    self._visit(f"<global {name}>", Item(function.__globals__, name), depth)

    def _class(self, path: str, kind: type, depth: int) -> None:
        if not is_mine(kind):
            return
        self.classes.append(kind)
        self.objects.append((path, kind))
        for name in list(vars(kind)):
            if name not in UNREAD and not isinstance(vars(kind)[name], types.MemberDescriptorType):
                self._visit(f"<class {kind.__qualname__}>.{name}", Attribute(kind, name), depth)
        for base in kind.__bases__:
            self._enter(f"<class {base.__qualname__}>", base, Attribute(kind, "__base__"), depth)

    def _instance(self, path: str, value: Any, depth: int) -> None:
        module = getattr(type(value), "__module__", "") or ""
        if not module.startswith(OPEN_PREFIXES):
            return
        self.objects.append((path, value))
        if isinstance(value, torch.nn.Module):
            for group in ("_parameters", "_buffers", "_modules"):
                for name in list(vars(value)[group]):
                    if isinstance(getattr(type(value), name, None), type(None)) or name.isidentifier():
                        self._visit(f"{path}.{name}", Attribute(value, name), depth)
                    else:
                        self._visit(f"{path}.{group}[{name}]", Item(vars(value)[group], name), depth)
        for name, member in list(getattr(value, "__dict__", {}).items()):
            if name in HIDDEN or (name.endswith("hooks") and not member):
                continue
            self._visit(f"{path}.{name}", Attribute(value, name), depth)
        for kind in type(value).__mro__:
            for name in slots_of(kind):
                self._visit(f"{path}.{name}", Attribute(value, name), depth)
        if is_mine(type(value)):
            kind = type(value)
            self._enter(f"<class {kind.__qualname__}>", kind, Attribute(value, "__class__"), depth)
