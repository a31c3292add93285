"""What a program says to the compiler: break here, do not compile this, treat that as constant.

`graph_break` and `is_compiling` are in `known_functions`, with what they do while tracing.
"""

import weakref
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import Any, TypeVar, cast

import torch

from framesmith.frontend.argument_checks import (
    check_callable,
    check_text,
    make_argument_error,
    name_of,
    require_flag,
)
from framesmith.frontend.disabled import calls_compiled_form, is_disabled, make_native
from framesmith.frontend.errors import InvalidArgument
from framesmith.frontend.registry import REGISTRY
from framesmith.frontend.torch_settings import warn_once
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import CALL_SIGNATURE
from framesmith.guards.class_lookup import static_lookup
from framesmith.guards.sources import Pinned
from framesmith.variables.callables.compiled import call_owner, original_of
from framesmith.variables.callables.functions import FunctionTracker
from framesmith.variables.core import (
    DuplicateRow,
    PendingCall,
    Rows,
    TraceContext,
    Tracker,
    from_python,
    row_of,
)
from framesmith.variables.core.table import RowFunction, callable_name
from framesmith.variables.graph_nodes.arguments import exact_target
from framesmith.variables.torch_functions.graph_calls import graph_call

F = TypeVar("F", bound=Callable[..., Any])  # Any: whatever the user's function takes


def disable(fn: F | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A form of `fn` that is never traced: it is called natively between two graphs. Also a decorator with arguments.

    A function, method or callable object gives a function. A module is disabled in place and returned (a copy of it is not
    disabled), and so is a class: what runs when it or one of its instances is called.
    `recursive=False` has no effect beyond that: no frame-evaluation hook would compile what the function calls.
    Raises InvalidArgument for what cannot be called and for wrong types.
    """
    require_flag("disable()", "recursive", recursive)
    check_text("disable()", "reason", reason, optional=True)
    if fn is None:

        def decorate(function: object) -> object:
            return _disable_object(function, recursive, reason)

        return decorate
    return _disable_object(fn, recursive, reason)


def _disable_object(fn: object, recursive: bool, reason: str | None) -> object:
    """The disabled form of an object, by its kind."""
    if isinstance(fn, staticmethod | classmethod):
        inner = _disable_object(fn.__func__, recursive, reason)
        assert callable(inner)
        return type(fn)(inner)
    check_callable("disable()", fn)
    if not recursive:
        warn_once(
            "disable(recursive=False)",
            f"disable({name_of(cast(Callable[..., object], fn))}, recursive=False): what the function calls runs uncompiled as well, unless it is "
            "compiled itself; compile the functions that it calls",
        )
    if isinstance(fn, type):
        return _disable_class(fn, reason)
    if isinstance(fn, torch.nn.Module) and calls_compiled_form(type(fn)):
        # as `compile(module)` does: in place, without a reference cycle (ADR 0013, 0014)
        native = make_native(call_owner, reason)
        # what a graph break names
        native.__module__, native.__qualname__ = type(fn).__module__, type(fn).__qualname__
        fn._compiled_call_impl = MethodType(native, weakref.ref(fn))
        return fn
    if isinstance(fn, FunctionType):
        return make_native(original_of(fn), reason)
    return make_native(cast(Callable[..., object], fn), reason)


def _disable_class(cls: type, reason: str | None) -> type:
    """Replace what runs when the class or one of its instances is called, as `torch.compiler.disable` does."""
    for name in ("__init__", "_call_impl" if issubclass(cls, torch.nn.Module) else "__call__"):
        found = static_lookup(cls, name)
        if isinstance(found, FunctionType) and not is_disabled(found):
            setattr(cls, name, make_native(found, reason))
    return cls


def allow_in_graph(fn: Callable[..., object] | Iterable[Callable[..., object]]) -> Any:
    """Record calls of `fn` as one node, without tracing into it. Its arguments must be tensors and constants.

    For a list or tuple: of each function in it. What has a row of framesmith's own already, such as `torch.add`, keeps it.
    Raises InvalidArgument for what cannot be called.
    """
    if isinstance(fn, list | tuple):
        return [allow_in_graph(one) for one in fn]
    check_callable("allow_in_graph()", fn, "a function, or a list or tuple of functions")
    function = cast(Callable[..., object], fn)
    if row_of(REGISTRY.current(), function) is None:

        def record(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
            return graph_call(tx, exact_target(tx, function, args, kwargs), args, kwargs)

        rows = Rows()
        rows.call(function)(record)
        REGISTRY.add(rows)
    elif not _is_recorded(function):
        name = callable_name(function)
        warn_once(
            f"allow_in_graph({name})",
            f"allow_in_graph() of {name} has no effect: framesmith traces it in its own way; to record a call of it as one "
            "node, wrap it in a function and pass that",
        )
    return fn


def _is_recorded(function: Callable[..., object]) -> bool:
    """Whether calls of a function with a row are nodes anyway: it was allowed before, or is torch's."""
    row = row_of(REGISTRY.current(), function)
    # rows carry no mark: the one that `allow_in_graph` adds is known by its qualified name
    allowed = row is not None and getattr(row.function, "__qualname__", "").startswith("allow_in_graph.")
    return allowed or str(getattr(function, "__module__", None)).partition(".")[0] == "torch"


def assume_constant_result(fn: F) -> F:
    """Call `fn` once while tracing, on constants, and take its result as constant from then on.

    Raises InvalidArgument for what cannot be called and for what is traced in another way already.
    """
    check_callable("assume_constant_result()", fn)
    known = row_of(REGISTRY.current(), fn)
    if known is not None and getattr(known.function, "__qualname__", "").startswith(
        "assume_constant_result."
    ):
        return fn

    def answer(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        operands = (*args, *kwargs.values())
        if not all(operand.is_python_constant() for operand in operands):
            raise GraphBreak(
                CALL_SIGNATURE, f"{name_of(fn)} is assumed constant but gets a value that is not"
            )
        # what the function asks of torch is no part of the graph
        with tx.graph.pause_recording():
            result = fn(
                *[argument.as_python_constant() for argument in args],
                **{name: value.as_python_constant() for name, value in kwargs.items()},
            )
        return from_python(tx, result)

    _add_row("assume_constant_result()", fn, answer)
    return fn


def substitute_in_graph(original: Callable[..., object]) -> Callable[[F], F]:
    """Trace the decorated Python function wherever `original`, a C function, is called.

    Raises InvalidArgument if `original` cannot be called or is traced in another way already, and if what is decorated is
    no Python function.
    """
    check_callable("substitute_in_graph()", original, "the function to be replaced")

    def register(replacement: F) -> F:
        if not isinstance(replacement, FunctionType):
            call = f"substitute_in_graph({name_of(original)})"
            raise make_argument_error(
                call, replacement, "a Python function (def or lambda), which can be traced"
            )

        def inline(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
            tracker = FunctionTracker(replacement, Pinned(replacement, replacement.__qualname__))
            return tracker.bind(tx, args, kwargs)

        _add_row("substitute_in_graph()", original, inline)
        return replacement

    return register


def _add_row(call: str, function: Callable[..., object], row_function: RowFunction) -> None:
    """Add a row that the user asked for. Raises InvalidArgument if the function has one, or cannot be found in a table."""
    try:
        rows = Rows()
        rows.call(function)(row_function)
        REGISTRY.add(rows)
    except DuplicateRow:
        raise InvalidArgument(
            f"{call} got {callable_name(function)}, which framesmith traces in another way already; "
            "leave the call out, or wrap the function in one of your own and pass that"
        ) from None
    except TypeError:
        raise make_argument_error(call, function, "a callable that can be hashed") from None
