"""Two independent copies of a program and its data: one runs eagerly, the other compiled.

A copy takes along functions (with their globals and cells), so that what a program does to a closure or to a
global of its module stays inside its world. Classes are shared. Programs that change classes come as source.
"""

import copy
import linecache
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

_OWN = ("tests", "program")


@dataclass
class World:
    """A function, and what it is called with."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def twin(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> World:
    """A copy of all three that shares nothing mutable with the original except classes and modules."""
    with _functions_are_copied():
        return World(*copy.deepcopy((function, args, kwargs)))


def load(source: str, name: str) -> dict[str, Any]:
    """Execute a program given as text in a fresh namespace; tracebacks find its lines."""
    filename = f"<program {name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(source, filename, "exec"), namespace)
    return namespace


def _copy_function(function: types.FunctionType, memo: dict[int, Any]) -> types.FunctionType:
    if not str(function.__globals__.get("__name__")).startswith(_OWN):
        return function
    closure = None
    if function.__closure__ is not None:
        closure = tuple(types.CellType() for _ in function.__closure__)
    new = types.FunctionType(
        function.__code__, _copy_globals(function.__globals__, memo), function.__name__, None, closure
    )
    memo[id(function)] = new
    for position, cell in enumerate(function.__closure__ or ()):
        if id(cell) not in memo:
            memo[id(cell)] = new.__closure__[position]
            try:
                new.__closure__[position].cell_contents = copy.deepcopy(cell.cell_contents, memo)
            except ValueError:
                pass
    shared = [memo[id(cell)] for cell in function.__closure__ or ()]
    if any(a is not b for a, b in zip(shared, new.__closure__ or (), strict=True)):
        fixed = types.FunctionType(new.__code__, new.__globals__, new.__name__, None, tuple(shared))
        memo[id(function)] = new = fixed
    new.__defaults__ = copy.deepcopy(function.__defaults__, memo)
    new.__kwdefaults__ = copy.deepcopy(function.__kwdefaults__, memo)
    new.__dict__.update(copy.deepcopy(function.__dict__, memo))
    new.__qualname__, new.__doc__, new.__module__ = (
        function.__qualname__,
        function.__doc__,
        function.__module__,
    )
    return new


def _copy_globals(namespace: dict[str, Any], memo: dict[int, Any]) -> dict[str, Any]:
    known = memo.get(id(namespace))
    if known is None:
        known = memo[id(namespace)] = dict(namespace)
        kinds = (list, dict, set, types.FunctionType, int, float)
        for name, value in namespace.items():
            if isinstance(value, kinds) and not name.startswith(("__", "test_")):
                known[name] = copy.deepcopy(value, memo)
    return known


@contextmanager
def _functions_are_copied() -> Iterator[None]:
    """Where `copy` keeps a set of types that it hands back as they are, functions leave it for the time."""
    atomic = getattr(copy, "_atomic_types", frozenset())
    dispatch = patch.dict(copy._deepcopy_dispatch, {types.FunctionType: _copy_function})
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 5000))
    with dispatch, patch.object(copy, "_atomic_types", atomic - {types.FunctionType}, create=True):
        yield
