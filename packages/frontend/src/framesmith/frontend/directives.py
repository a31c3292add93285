"""What a program says to the compiler: break here, do not compile this, treat that as constant.

The functions of `torch.compiler` and `torch._dynamo` with the same meaning are recognised by module and name
while tracing (torch._dynamo is not imported for it).
"""

import functools
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, TypeVar, cast

import torch

from framesmith.frontend.dynamic_marks import DYNAMIC_MARK, STATIC_MARK, WEAK_DYNAMIC_MARK
from framesmith.frontend.marked_functions import begin_marked
from framesmith.graph import GraphBreak
from framesmith.graph.break_kinds import CALL_SIGNATURE, EXPLICIT
from framesmith.guards.sources import Pinned
from framesmith.guards.words import a_type
from framesmith.variables.callables.functions import DIRECTIVES, DISABLED_MARK, MARKED_CALLS, FunctionTracker
from framesmith.variables.core import CALLABLES, Constant, PendingCall, TraceContext, Tracker, from_python
from framesmith.variables.torch_functions.graph_calls import graph_call

F = TypeVar("F", bound=Callable[..., Any])  # Any: whatever the user's function takes


def graph_break(msg: str = "") -> None:
    """Break the graph here when traced; nothing otherwise."""


def is_compiling() -> bool:
    """True while a function is being traced, False when it runs natively."""
    return torch.compiler.is_compiling()


def disable(fn: F | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A form of `fn` that is never traced: it is called natively between two graphs. Also a decorator with arguments."""
    if fn is None:
        return lambda function: disable(function, recursive, reason=reason)

    @functools.wraps(fn)
    def native(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    native.__dict__[DISABLED_MARK] = reason or True
    return cast(F, native)


def _break_row(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`graph_break()`: always a break; constants among the arguments are its message."""
    shown = [
        argument.as_python_constant()
        for argument in (*args, *kwargs.values())
        if argument.is_python_constant()
    ]
    raise GraphBreak(EXPLICIT, " ".join(str(value) for value in shown if value is not None))


def _true(tx: TraceContext) -> Tracker:
    """`is_compiling()`."""
    return Constant(True)


CALLABLES.row(graph_break)(_break_row)
CALLABLES.row(is_compiling)(_true)


def _region(tx: TraceContext, function: Tracker, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
    """A function marked with `nested_compile_region`: inlined like any other, which is what the mark means in eager."""
    return function.begin_call(tx, args, kwargs)


for _name in ("graph_break", "skip_frame", "step_unsupported"):
    DIRECTIVES["torch._dynamo.decorators", _name] = _break_row
DIRECTIVES["torch._dynamo.external_utils", "is_compiling"] = _true
MARKED_CALLS.append(begin_marked)
DIRECTIVES["torch._higher_order_ops.invoke_subgraph", "invoke_subgraph_placeholder"] = _region


def allow_in_graph(fn: Callable[..., object] | Iterable[Callable[..., object]]) -> Any:
    """Record calls of `fn` as one node, without tracing into it. Its arguments must be tensors and constants."""
    if isinstance(fn, list | tuple):
        return [allow_in_graph(one) for one in fn]
    function = cast(Callable[..., object], fn)
    if CALLABLES.find(function) is None:

        def record(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
            return graph_call(tx, function, args, kwargs)

        CALLABLES.row(function)(record)
    return fn


def assume_constant_result(fn: F) -> F:
    """Call `fn` once while tracing, on constants, and take its result as constant from then on."""

    def answer(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        operands = (*args, *kwargs.values())
        if not all(operand.is_python_constant() for operand in operands):
            raise GraphBreak(
                CALL_SIGNATURE, f"{fn.__name__} is assumed constant but gets a value that is not"
            )
        with tx.graph.paused():
            result = fn(
                *[argument.as_python_constant() for argument in args],
                **{name: value.as_python_constant() for name, value in kwargs.items()},
            )
        return from_python(result)

    CALLABLES.row(fn)(answer)
    return fn


def substitute_in_graph(original: Callable[..., object]) -> Callable[[F], F]:
    """Trace the decorated Python function wherever `original`, a C function, is called."""

    def register(replacement: F) -> F:
        assert isinstance(replacement, FunctionType)

        def inline(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
            tracker = FunctionTracker(replacement, Pinned(replacement, replacement.__qualname__))
            return tracker.bind(tx, args, kwargs)

        CALLABLES.row(original)(inline)
        return replacement

    return register


def mark_dynamic(tensor: torch.Tensor, index: int | Iterable[int]) -> None:
    """The size of these dimensions may differ from call to call: make them symbolic at once."""
    _mark(tensor, DYNAMIC_MARK, index)


def maybe_mark_dynamic(tensor: torch.Tensor, index: int | Iterable[int]) -> None:
    """Like `mark_dynamic`, without complaint if the program fixes the size."""
    _mark(tensor, WEAK_DYNAMIC_MARK, index)


def mark_static(tensor: torch.Tensor, index: int | Iterable[int] | None = None) -> None:
    """These dimensions (all by default) are never symbolic."""
    _mark(tensor, STATIC_MARK, range(tensor.dim()) if index is None else index)


def _mark(tensor: torch.Tensor, name: str, index: int | Iterable[int]) -> None:
    dims = {index} if isinstance(index, int) else set(index)
    for dim in dims:
        if not isinstance(dim, int):
            raise TypeError(f"a dimension is an int, got {dim!r}, {a_type(type(dim))}")
        if not -tensor.dim() <= dim < tensor.dim():
            raise IndexError(f"dimension {dim} is out of range for a tensor of {tensor.dim()} dimensions")
    known: set[int] = tensor.__dict__.setdefault(name, set())
    known.update(dim % tensor.dim() for dim in dims)
