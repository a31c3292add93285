"""What the code of a function can come upon: the functions that it may call, and the objects that it may see.

Before: `def parse(text): return Tree(text)`, beside `REGISTRY = {}` in the same module. After: `parse` may run the methods of `Tree`, and
does not see `REGISTRY`. The answer errs on the side of "it may see it": a name that stands anywhere in that code is taken for one of
each module and class that the code comes upon.
"""

import builtins
import gc
import sys
import typing
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial, partialmethod
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Final, final

import torch

from framesmith.guards.class_lookup import resolution_order

_MOST_SEEN: Final = 20_000
_BY_NAME: Final = frozenset(
    [
        "getattr", "vars", "globals", "locals", "eval", "exec", "compile", "__import__", "import_module", "modules", "__dict__",
        "__globals__", "__subclasses__", "get_referrers", "get_objects", "_getframe", "currentframe", "attrgetter", "methodcaller",
        "__closure__", "__builtins__",
    ]
)  # fmt: skip
"""What finds objects by names that do not stand in the code, or all objects."""
_ATOMS: Final = (str, bytes, int, float, complex, bool, type(None), type(...), CodeType)
_NOT_IMPLIED: Final = frozenset(
    [
        "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__copy__", "__deepcopy__", "__dir__", "__sizeof__",
        "__subclasshook__", "__init_subclass__", "__dict__", "__weakref__",
    ]
)  # fmt: skip
"""Special methods that run only where their names, or functions that search by name, stand in the code."""
_WRAPPERS: Final = (staticmethod, classmethod, property, partial, partialmethod, MethodType)


def may_see(start: Iterable[object], targets: Collection[object], *, tensors: bool = False) -> bool:
    """Whether code that runs within a call of a function, which is given with its arguments, may come upon one of these objects, or
    (`tensors`) upon any tensor or function of torch; true where that cannot be told."""
    return _Search(targets, tensors=tensors).finds(start)


@final
class _Search:
    def __init__(self, targets: Collection[object], *, tensors: bool) -> None:
        self._tensors = tensors
        self._targets = {id(target) for target in targets}
        self._seen: dict[int, object] = {}
        self._names: set[str] = set()
        self._namespaces: list[Mapping[str, object]] = []

    def finds(self, start: Iterable[object]) -> bool:
        """Search from these objects on."""
        waiting = list(start)
        while waiting:
            while waiting:
                value = waiting.pop()
                if isinstance(value, _ATOMS) or id(value) in self._seen:
                    continue
                self._seen[id(value)] = value
                if id(value) in self._targets or len(self._seen) > _MOST_SEEN:
                    return True
                if self._tensors and _uses_tensors(value):
                    return True
                waiting += self._referred(value)
                if not self._names.isdisjoint(_BY_NAME):
                    return True
            # A name that was met later may be one of a module or class that was met before.
            waiting = [value for value in self._named() if id(value) not in self._seen]
        return False

    def _named(self) -> list[object]:
        found = [space[name] for space in self._namespaces for name in self._names if name in space]
        return [value for value in found if not isinstance(value, _ATOMS)]

    def _referred(self, value: object) -> list[object]:
        """What code can get from a value without a name, as far as it is no module or class."""
        if isinstance(value, ModuleType):
            self._namespaces.append(vars(value))
            return []
        if isinstance(value, type):
            self._namespaces.append(vars(value))
            # The interpreter itself calls special methods.
            items = vars(value).items()
            special = [item for name, item in items if name.startswith("__") and name not in _NOT_IMPLIED]
            return [*resolution_order(value), type(value), *special]
        if isinstance(value, FunctionType):
            self._namespaces.append(value.__globals__)
            self._read(value.__code__)
            cells = [cell.cell_contents for cell in value.__closure__ or () if not _is_empty(cell)]
            return [
                *cells,
                *(value.__defaults__ or ()),
                *(value.__kwdefaults__ or {}).values(),
                *vars(value).values(),
            ]
        if isinstance(value, BuiltinFunctionType):
            self._names.add(value.__name__)
            return []
        if type(value).__module__ == typing.__name__:  # `List[int]` in an annotation
            return []
        # What wraps functions, containers and instances have in them what they lead to.
        return [*gc.get_referents(value), *([] if isinstance(value, _WRAPPERS) else [type(value)])]

    def _read(self, code: CodeType) -> None:
        self._names.update(code.co_names)
        imported = [sys.modules.get(name) for name in code.co_names]
        self._namespaces += [vars(module) for module in imported if module is not None]
        self._namespaces.append(vars(builtins))
        for one in _codes(code.co_consts):
            self._read(one)


def _uses_tensors(value: object) -> bool:
    """Whether it is a tensor or an array, or a part of torch, which may make some or draw random numbers."""
    if isinstance(value, ModuleType):
        return str(value.__name__).partition(".")[0] == torch.__name__
    if isinstance(value, BuiltinFunctionType):
        owner: object = value.__self__
        # Those of the module `torch` say of nothing that they are its functions.
        return owner is None or (isinstance(owner, ModuleType) and _uses_tensors(owner))
    # An array may have the memory of a tensor.
    return issubclass(type(value), torch.Tensor) or type(value).__module__ == "numpy"


def _codes(constants: tuple[object, ...]) -> Iterator[CodeType]:
    return (one for one in constants if isinstance(one, CodeType))


def _is_empty(cell: object) -> bool:
    try:
        getattr(cell, "cell_contents")  # noqa: B009  # its type has no name
    except ValueError:
        return True
    return False
