"""What torch's fake tensors need of `torch._dynamo`, without the rest of it. The one adapter to that package's import (ADR 0020).

`FakeTensorMode` and `ShapeEnv` read torch's settings and use its exceptions, which lie in submodules of `torch._dynamo`. Importing
a submodule executes the body of the package first, and that imports all of TorchDynamo and much of inductor: more than half of
the time to the first result. `prepare` imports these submodules alone and puts the body off until somebody asks for it.
"""

import importlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import CodeType, FunctionType
from typing import Final

import torch
from torch import _compile
from torch._decomp import global_decomposition_table
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import _disable_current_modes

from framesmith.graph.environment.deferred_package import Deferral

_EARLY: Final = ("config", "exc", "source")
"""What the fake mode of a trace, its shape environment and its symbols use."""

_MARK: Final = "__dynamo_disable"
"""Where torch's decorator keeps the disabled form of the function that it decorates."""

_DECORATED: Final = tuple(
    one
    for one in _compile._disable_dynamo.__code__.co_consts
    if isinstance(one, CodeType) and one.co_name == "inner"
)
"""The code of every function that torch's decorator returns."""

_LATER: Final = (
    "_subclasses.schema_check_mode",
    "fx.experimental._constant_symnode",
    "fx.experimental.validator",
    "nested._internal.nested_int",
    "nested._internal.nested_tensor",
)
"""What torch itself imports in the functions that the first trace calls."""

_FORK_TIMEOUT: Final = 60.0
_IMPORTING: Final = threading.RLock()
"""Held while `prepare` imports. A fork waits for it: in the child nobody would finish the import of another thread, and
whoever asked for one of these modules there would wait for ever."""

_forking: Final[set[int]] = set()
_is_prepared = False
_marked: list[FunctionType] = []
_waiting: list[Callable[[], object]] = []


def prepare() -> None:
    """To be called before a fake mode is made: import what it needs of the package, unless all of it is loaded."""
    global _is_prepared
    if not _is_prepared:
        with _IMPORTING:
            # The package has been imported without us: who waits for it is told now.
            if not _DEFERRAL.start():
                _notify()
            for part in _LATER:
                with suppress(ImportError):  # another release of torch may lack it: then nothing asks for it
                    importlib.import_module(f"{torch.__name__}.{part}")
            _is_prepared = True


def _before_fork() -> None:
    if _IMPORTING.acquire(timeout=_FORK_TIMEOUT):  # better a child as Python makes it than no fork at all
        _forking.add(threading.get_ident())


def _after_fork() -> None:
    if threading.get_ident() in _forking:
        _forking.clear()  # nobody else holds the lock
        _IMPORTING.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def call_when_loaded(tell: Callable[[], object]) -> None:
    """Call this once the package has been executed, which may be later than the first trace and before the second."""
    _waiting.append(tell)


def _notify() -> None:
    while _waiting:
        _waiting.pop()()


@contextmanager
def _outside_of_traces() -> Iterator[None]:
    """Around the body: what it computes at import is real, even where a trace asked for it."""
    _unmark()
    with _disable_current_modes():
        yield
    _notify()


def _mark_decorated() -> None:
    """Let torch's own functions that are excluded from capture run without the package.

    Their decorator imports it at their first call, to make a form that switches TorchDynamo off. As long as the package is not
    loaded nothing is on: that form is the function itself. `_unmark` removes it before the package is loaded, so that
    the decorator finds what it finds in a process without us.
    """
    kernels = [
        kernel for table in list(global_decomposition_table.values()) for kernel in list(table.values())
    ]
    for function in filter(None, map(_decorated, [FakeTensorMode.__torch_dispatch__, *kernels])):
        # Otherwise torch has made a disabled form already.
        if _MARK not in vars(function):
            setattr(function, _MARK, function)
            _marked.append(function)


def _decorated(function: object) -> FunctionType | None:
    """The function under torch's decorator, which may lie under others."""
    while isinstance(function, FunctionType):
        if function.__code__ in _DECORATED:
            held = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
            found: object = held["fn"].cell_contents if "fn" in held else None
            return found if isinstance(found, FunctionType) else None
        function = getattr(function, "__wrapped__", None)
    return None


def _unmark() -> None:
    while _marked:
        function = _marked.pop()
        # Somebody may have put another form there.
        if vars(function).get(_MARK) is function:
            delattr(function, _MARK)


_DEFERRAL: Final = Deferral(f"{torch.__name__}._dynamo", _EARLY, _mark_decorated, _outside_of_traces)
