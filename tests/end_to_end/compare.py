"""Are two worlds the same? Values, types, sharing among objects, tensors' storage, tracebacks.

`Comparison` walks two structures side by side and keeps the pairs of objects it has met: where one side meets an
object again, the other has to meet the partner again (the pattern of identities).
"""

import enum
import inspect
import itertools
import math
import types
from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any

import numpy
import torch

from framesmith.bytecode.opcodes import VERSION

ATOMS = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), type(NotImplemented))
BY_IDENTITY = (
    type,
    types.ModuleType,
    types.BuiltinFunctionType,
    torch.dtype,
    torch.device,
    torch.layout,
    enum.Enum,
)
FREE = (tuple, frozenset, range, slice, types.MethodType, types.CodeType, torch.Size, property)
UNSEEN = {"_compiled_call_impl", "__framesmith_session__", "__wrapped__"}
OURS = ("/framesmith/", "/tests/end_to_end/support.py", "/tests/end_to_end/observe.py")


class Difference(AssertionError):
    """The compiled program is not like the eager one."""


class Comparison:
    """One walk over the eager and the compiled side."""

    def __init__(self, rtol: float = 0.0, atol: float = 0.0) -> None:
        self._rtol, self._atol = rtol, atol
        self._partner: dict[int, Any] = {}
        self._back: dict[int, Any] = {}
        self._storages: dict[int, int] = {}
        self._storages_back: dict[int, int] = {}
        self._alive: list[Any] = []

    def same(self, eager: Any, compiled: Any, path: str) -> None:
        """Raise Difference, naming the path, unless the two are alike."""
        if eager is compiled and isinstance(eager, BY_IDENTITY):
            return
        self._equal(type(eager), type(compiled), path, "type")
        if isinstance(eager, ATOMS) and type(eager) in ATOMS:
            return self._atom(eager, compiled, path)
        if isinstance(eager, BY_IDENTITY):
            return self._equal(eager, compiled, path, "object")
        if not isinstance(eager, FREE) and self._met(eager, compiled, path):
            return
        self._contents(eager, compiled, path)

    def _equal(self, eager: Any, compiled: Any, path: str, what: str) -> None:
        if eager is compiled or eager == compiled:
            return
        if isinstance(eager, type) and isinstance(compiled, type) and eager.__module__ == "program":
            if eager.__qualname__ == compiled.__qualname__:
                return
        raise Difference(f"{path}: {what} is {eager!r} eagerly, {compiled!r} compiled")

    def _atom(self, eager: Any, compiled: Any, path: str) -> None:
        if isinstance(eager, float):
            if math.isnan(eager) and math.isnan(compiled):
                return
            if self._rtol and math.isclose(eager, compiled, rel_tol=self._rtol, abs_tol=self._atol):
                return
            self._equal(math.copysign(1, eager), math.copysign(1, compiled), path, "sign")
        if isinstance(eager, complex):
            self._atom(eager.real, compiled.real, f"{path}.real")
            return self._atom(eager.imag, compiled.imag, f"{path}.imag")
        self._equal(eager, compiled, path, "value")

    def _met(self, eager: Any, compiled: Any, path: str) -> bool:
        if id(eager) in self._partner or id(compiled) in self._back:
            if self._partner.get(id(eager)) is not compiled or self._back.get(id(compiled)) is not eager:
                raise Difference(f"{path}: another object is shared here than eagerly (identity), {eager!r}")
            return True
        self._partner[id(eager)], self._back[id(compiled)] = compiled, eager
        self._alive += [eager, compiled]
        return False

    def _contents(self, eager: Any, compiled: Any, path: str) -> None:
        if isinstance(eager, torch.Tensor):
            self._tensor(eager, compiled, path)
        elif isinstance(eager, numpy.ndarray | numpy.generic):
            self._array(eager, compiled, path)
        elif isinstance(eager, torch.Generator):
            self.same(eager.get_state(), compiled.get_state(), f"{path}.get_state()")
        elif isinstance(eager, dict | types.MappingProxyType):
            self._items(eager, compiled, path)
            self._attributes(eager, compiled, path)
        elif isinstance(eager, list | tuple | deque):
            self._sequence(eager, compiled, path)
            self._attributes(eager, compiled, path)
        elif isinstance(eager, set | frozenset):
            ordered = list if all(map(_has_own_hash, eager)) else sorted  # addresses differ
            self._equal(ordered(map(repr, eager)), ordered(map(repr, compiled)), path, "set")
            self._attributes(eager, compiled, path)
        elif isinstance(eager, types.FunctionType):
            self._function(eager, compiled, path)
        elif isinstance(eager, types.MethodType):
            self.same(eager.__func__, compiled.__func__, f"{path}.__func__")
            self.same(eager.__self__, compiled.__self__, f"{path}.__self__")
        elif isinstance(eager, types.CellType):
            self._cell(eager, compiled, path)
        elif isinstance(eager, BaseException):
            self._exception(eager, compiled, path)
        elif isinstance(eager, types.GeneratorType) or type(eager).__name__.endswith("iterator"):
            self._drained(eager, compiled, path)
        elif isinstance(eager, zip | map | filter | enumerate | reversed | itertools.chain):
            self._drained(eager, compiled, path)
        elif isinstance(eager, range | slice):
            self._equal(eager, compiled, path, "value")
        else:
            self._attributes(eager, compiled, path)

    def _items(self, eager: Any, compiled: Any, path: str) -> None:
        if path.endswith(
            ("_hooks", "_hooks_with_kwargs", "_hooks_always_called")
        ):  # keys are counted per process
            return self._sequence(eager.values(), compiled.values(), path)
        self._sequence(list(eager), list(compiled), f"list({path})")
        if isinstance(eager, OrderedDict):  # the dict below has an order of its own
            self._sequence(list(dict.keys(eager)), list(dict.keys(compiled)), f"list(dict.keys({path}))")
        for key, other in zip(eager, compiled, strict=True):
            self.same(_item(eager, key), _item(compiled, other), f"{path}[{key!r}]")

    def _sequence(self, eager: Iterable[Any], compiled: Iterable[Any], path: str) -> None:
        left, right = list(eager), list(compiled)
        self._equal(len(left), len(right), path, "length")
        for index, (a, b) in enumerate(zip(left, right, strict=True)):
            self.same(a, b, f"{path}[{index}]")

    def _drained(self, eager: Any, compiled: Any, path: str) -> None:
        left, right = (list(itertools.islice(one, 50)) for one in (eager, compiled))
        self._sequence(left, right, f"list({path})")

    def _cell(self, eager: types.CellType, compiled: types.CellType, path: str) -> None:
        contents = [[one.cell_contents] if one != types.CellType() else [] for one in (eager, compiled)]
        self._sequence(contents[0], contents[1], f"{path}.cell_contents")

    def _function(self, eager: types.FunctionType, compiled: types.FunctionType, path: str) -> None:
        if eager.__code__.co_qualname.startswith("__fs"):
            raise Difference(f"{path}: a function of ours leaked: {eager!r}")
        for name in (
            "__name__",
            "__qualname__",
            "__defaults__",
            "__kwdefaults__",
            "__closure__",
            "__annotations__",
        ):
            self.same(getattr(eager, name), getattr(compiled, name), f"{path}.{name}")
        if "__framesmith_session__" not in compiled.__dict__:
            self.same(eager.__code__.co_firstlineno, compiled.__code__.co_firstlineno, f"{path}.__code__")
        self._attributes(eager, compiled, path)

    def _attributes(self, eager: Any, compiled: Any, path: str) -> None:
        left, right = (
            {key: value for key, value in getattr(one, "__dict__", {}).items() if key not in UNSEEN}
            for one in (eager, compiled)
        )
        self._equal(list(left), list(right), path, "attributes")
        for key, value in left.items():
            self.same(value, right[key], f"{path}.{key}")
        for kind in type(eager).__mro__:
            for slot in slots_of(kind) if "__slots__" in kind.__dict__ else ():
                have = [hasattr(one, slot) for one in (eager, compiled)]
                self._equal(have[0], have[1], f"{path}.{slot}", "presence")
                if have[0]:
                    self.same(getattr(eager, slot), getattr(compiled, slot), f"{path}.{slot}")

    def _tensor(self, eager: torch.Tensor, compiled: torch.Tensor, path: str) -> None:
        for name in ("shape", "dtype", "device", "requires_grad", "is_leaf", "layout"):
            self._equal(getattr(eager, name), getattr(compiled, name), f"{path}.{name}", "value")
        if eager.layout is torch.strided:
            self._equal(eager.stride(), compiled.stride(), f"{path}.stride()", "value")
            self._storage(eager, compiled, path)
        self._equal(eager.is_inference(), compiled.is_inference(), f"{path}.is_inference()", "value")
        try:
            torch.testing.assert_close(
                compiled.detach(), eager.detach(), rtol=self._rtol, atol=self._atol, equal_nan=True
            )
        except AssertionError as error:
            raise Difference(f"{path}: {error}\neager {eager!r}\ncompiled {compiled!r}") from None
        if eager.is_leaf:
            self.same(eager.grad, compiled.grad, f"{path}.grad")
        self._attributes(eager, compiled, path)

    def _array(self, eager: Any, compiled: Any, path: str) -> None:
        for name in ("shape", "dtype", "strides") if eager.size else ("shape", "dtype"):
            self._equal(getattr(eager, name), getattr(compiled, name), f"{path}.{name}", "value")
        if eager.dtype.kind in "fc":  # the kernels of torch and numpy round differently
            alike = numpy.allclose(
                eager, compiled, rtol=max(self._rtol, 1e-6), atol=self._atol, equal_nan=True
            )
        else:
            alike = bool(numpy.all(eager == compiled))
        if not alike:
            raise Difference(f"{path}: an array differs\neager {eager!r}\ncompiled {compiled!r}")

    def _storage(self, eager: torch.Tensor, compiled: torch.Tensor, path: str) -> None:
        left, right = (one.untyped_storage()._cdata for one in (eager, compiled))
        if (
            self._storages.setdefault(left, right) != right
            or self._storages_back.setdefault(right, left) != left
        ):
            raise Difference(f"{path}: memory is shared with another tensor than eagerly (aliasing)")

    def _exception(self, eager: BaseException, compiled: BaseException, path: str) -> None:
        self.same(str(eager), str(compiled), f"str({path})")
        self._sequence(eager.args, compiled.args, f"{path}.args")
        for name in ("__cause__", "__context__", "__suppress_context__"):
            self.same(getattr(eager, name), getattr(compiled, name), f"{path}.{name}")
        self._equal(traceback_of(eager), traceback_of(compiled), path, "traceback")
        self._attributes(eager, compiled, path)


def traceback_of(error: BaseException) -> list[tuple[str, int]]:
    """The user's frames. 3.11 fuses two loads or stores of variables once code is warm and then gives the line of the
    first for what the second raises: the line of an unbound variable says nothing there."""
    frames = user_frames(error)
    if isinstance(error, UnboundLocalError) and VERSION == (3, 11) and frames:
        frames[-1] = (frames[-1][0], 0)
    return frames


def _has_own_hash(item: object) -> bool:
    """Whether the hash of an item comes from its value, so that both worlds have it; a NaN's is its address."""
    if isinstance(item, tuple | frozenset):
        return all(map(_has_own_hash, item))
    return isinstance(item, str | bytes | int | float | complex | type) and item == item


def slots_of(kind: type) -> list[str]:
    """The names in `__slots__` of one class of the user."""
    slots = kind.__dict__.get("__slots__", ())
    named = [slots] if isinstance(slots, str) else list(slots)
    return [name for name in named if inspect.ismemberdescriptor(kind.__dict__.get(name))]


def _item(mapping: Any, key: object) -> Any:
    """What is stored, whatever a subclass of dict answers."""
    return dict.__getitem__(mapping, key) if isinstance(mapping, dict) else mapping[key]


def user_frames(error: BaseException) -> list[tuple[str, int]]:
    """Function and line of each frame of the user in the traceback; a run of the same function counts once."""
    frames: list[tuple[str, int]] = []
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename.startswith("<program") or "/tests/end_to_end/test_" in code.co_filename:
            if frames and frames[-1][0] == code.co_name:
                frames.pop()
            frames.append((code.co_name, traceback.tb_lineno))
        traceback = traceback.tb_next
    return frames


__all__ = ["Comparison", "Difference", "OrderedDict", "user_frames"]
