"""`compile` and the functions around it.

What belongs to one compiled function is in `cache.session`; how an entry is made, in `build_entry`.
"""

import functools
import inspect
import os
import weakref
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any, Final, Never, TypeGuard, cast

import torch

from framesmith.frontend import events
from framesmith.frontend.argument_checks import make_argument_error, make_not_callable_error, name_of
from framesmith.frontend.cache.method_definition import MethodDefinition
from framesmith.frontend.cache.session import SESSION_ATTRIBUTE, Session
from framesmith.frontend.cache.shared_entries import CACHES
from framesmith.frontend.cache.trace_start import NEVER_COMPILED
from framesmith.frontend.compile_arguments import refuse_unknown, require_options
from framesmith.frontend.disabled import is_disabled
from framesmith.frontend.errors import InvalidArgument, NotCompiledWarning
from framesmith.frontend.options import CompileOptions
from framesmith.frontend.registry import REGISTRY
from framesmith.frontend.stances import LISTENER, LIVE_SESSIONS
from framesmith.frontend.torch_settings import warn_once
from framesmith.graph.options import Backend
from framesmith.guards.class_lookup import static_lookup
from framesmith.guards.kinds.base import describe_value, show_value
from framesmith.variables.callables.compiled import call_owner, mark_compiled, original_of


def compile(
    model: Any = None,  # Any, also as the result: whatever was given comes back in a compiled form
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Backend | None = None,
    mode: str | None = None,
    options: Mapping[str, object] | None = None,
    disable: bool = False,
    **unknown: Never,
) -> Any:
    """A compiled form of a function, method, class, callable object or module; without one, a decorator.

    Takes what `torch.compile` takes; without a backend, the one that `torch.compiler.set_default_backend` has set, else
    inductor; `list_backends()` names those there are. `mode` and `options` are inductor's; a mode is "default",
    "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs" or "lite". A function gives a new function with the same signature and metadata; a module is compiled in place of its
    call and returned; a class gets its `__call__` compiled. `uncompile` is the way back.
    Raises InvalidArgument for what cannot be called, for a wrong type, an unknown name or value, and for a module that is
    compiled with other options already; UnknownBackend for a name that is not registered.
    """
    refuse_unknown(unknown)
    # also with `disable`: a wrong argument is an error at the call in any case
    chosen = require_options(fullgraph, dynamic, backend, mode, options, disable)
    if model is None:

        def decorate(function: object) -> object:
            return function if disable else compile_object(function, chosen)

        return decorate
    return model if disable else compile_object(model, chosen)


def compile_object(model: object, options: CompileOptions) -> object:
    """The compiled form of an object, by its kind. Raises InvalidArgument for what cannot be called."""
    if isinstance(model, torch.jit.ScriptModule):  # a module, but what it runs is no Python code
        return warn_without_code(model, options)
    if isinstance(model, torch.nn.Module):
        return compile_module(model, options)
    if isinstance(model, FunctionType):
        return compile_function(model, options)
    if isinstance(model, MethodType):
        function = model.__func__
        compiled = compile_object(function, options)
        assert callable(compiled)
        return MethodType(compiled, model.__self__)
    if isinstance(model, staticmethod | classmethod):
        inner = compile_object(model.__func__, options)
        assert callable(inner)
        return type(model)(inner)
    # before `callable`: a class can be called, but what is compiled is the call of its instances
    if isinstance(model, type):
        return compile_class(model, options)
    if _is_partial(model):
        inner = compile_object(model.func, options)
        assert callable(inner)
        return replace_function(model, inner)
    if callable(model):
        return compile_callable(model, options)
    raise make_not_callable_error("compile()", model)


def compile_function(
    function: FunctionType, options: CompileOptions, *, definition: MethodDefinition | None = None
) -> FunctionType:
    """A function with the same signature and metadata that checks guards and runs graphs.

    `definition`: where a class defines it, for a method. The method of a compiled module (`may_be_shadowed`) is passed its
    first argument, the module, as a weak reference, since the module holds the compiled function (ADR 0014).
    """
    if function.__code__.co_flags & NEVER_COMPILED:
        place = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
        warn_once(
            f"compile({place}, {options.text()})",
            f"compile() got {function.__qualname__}, {_name_kind(function)}, which runs uncompiled; "
            "compile a function that consumes what it returns, or the functions that it calls",
            NotCompiledWarning,
        )
        return function
    # the mark that `torch.compiler.disable` leaves
    if getattr(function, "_torchdynamo_disable", False) or is_disabled(function):
        return function
    # the function below a compiled one: our dispatchers are not traced
    original = original_of(function)
    is_owned = definition is not None and definition.may_be_shadowed
    session = Session(original, options, definition=definition)
    compiled = session.make_function(is_owned=is_owned)
    session.compiled = weakref.ref(compiled)
    # before our own attributes are set: it copies those of the original, which may have come from a compiled function
    functools.update_wrapper(compiled, original)
    compiled.__defaults__ = original.__defaults__
    compiled.__kwdefaults__ = original.__kwdefaults__
    compiled.__dict__[SESSION_ATTRIBUTE] = session
    mark_compiled(compiled, call_owner if is_owned else original, strict=options.fullgraph)
    return compiled


def _name_kind(function: FunctionType) -> str:
    if inspect.isasyncgenfunction(function):
        return "an asynchronous generator function"
    return "a coroutine function" if inspect.iscoroutinefunction(function) else "a generator function"


def compile_module(module: torch.nn.Module, options: CompileOptions) -> torch.nn.Module:
    """Compile in place of the module's call: class, state_dict, hooks and pickling stay what they are.

    A module has one compiled form (ADR 0013): the same options again change nothing, others are refused.
    """
    known = session_of(module)
    if known is not None:
        # the class may have another `_call_impl` by now
        implementation = call_implementation(type(module))
        if known.options == options and known.function.__code__ is implementation.__code__:
            return module
        raise InvalidArgument(
            f"this {type(module).__name__} is compiled already, in place, with {known.options.text()}, and compile() was asked for {options.text()}; "
            "call frontend.uncompile(module) before, or compile a function that calls the module for a second form"
        )
    if is_disabled(module.__dict__.get("_compiled_call_impl")):
        return module
    call = call_implementation(type(module))
    compiled = compile_function(
        copy_function(call),
        options,
        definition=MethodDefinition(type(module), "_call_impl", call, may_be_shadowed=True),
    )
    if session_of(compiled) is None:  # the class is disabled
        return module
    # no reference cycle: the module dies when it is dropped (ADR 0014)
    module._compiled_call_impl = MethodType(compiled, weakref.ref(module))
    return module


_NOT_COMPILED_HERE: Final = ", which compile() has not returned"


def make_compiled_call(cls: type[torch.nn.Module], options: CompileOptions) -> FunctionType:
    """A compiled form of what a module of this class runs when it is called; the module is its first argument."""
    call = call_implementation(cls)
    return compile_function(
        copy_function(call), options, definition=MethodDefinition(cls, "_call_impl", call)
    )


def uncompile(model: Any) -> Any:
    """The way back to eager: a module's call, or a class's, is again what it was; of a compiled function, its original.

    Raises InvalidArgument for what was not compiled.
    """
    if isinstance(model, MethodType):
        return MethodType(uncompile(model.__func__), model.__self__)
    if isinstance(model, staticmethod | classmethod):
        return type(model)(uncompile(model.__func__))
    if _is_partial(model):
        return replace_function(model, uncompile(model.func))
    session = session_of(model)
    # a class has no session, its `__call__` has
    if isinstance(model, type):
        return uncompile_class(model)
    if session is None:
        raise make_argument_error("uncompile()", model, "what compile() returned", hint=_NOT_COMPILED_HERE)
    if isinstance(model, torch.nn.Module):
        # None is what torch's class attribute says, for a module that is not compiled
        model._compiled_call_impl = None
        return model
    return session.original


def uncompile_class(cls: type) -> type:
    """Take the compiled `__call__` out of a class."""
    name = "_call_impl" if issubclass(cls, torch.nn.Module) else "__call__"
    session = session_of(vars(cls).get(name))
    if session is None:
        raise make_argument_error("uncompile()", cls, "what compile() returned", hint=_NOT_COMPILED_HERE)
    if session.inherited:
        delattr(cls, name)
    else:
        setattr(cls, name, session.original)
    return cls


def call_implementation(cls: type[torch.nn.Module]) -> FunctionType:
    """What runs hooks and `forward` when a module is called, also where the class is compiled."""
    function: object = cls._call_impl
    assert isinstance(function, FunctionType)
    return original_of(function)


def copy_function(function: FunctionType) -> FunctionType:
    """A copy of a function, so that a compiled one has entries of its own."""
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(copy, function)
    return copy


def replace_function(
    given: functools.partial[object], function: Callable[..., object]
) -> functools.partial[object]:
    """The same `partial`, of its class and with its attributes, with another function."""
    made = functools.partial.__new__(type(given), function, *given.args, **given.keywords)
    vars(made).update(vars(given))
    return made


def _is_partial(model: object) -> TypeGuard[functools.partial[object]]:
    """Whether this is a `partial` whose class has no call of its own."""
    known = functools.partial.__call__
    return isinstance(model, functools.partial) and static_lookup(type(model), "__call__") is known


def compile_class(cls: type, options: CompileOptions) -> type:
    """Compile the `__call__` of a class's instances; the class itself is returned."""
    name = "_call_impl" if issubclass(cls, torch.nn.Module) else "__call__"
    method = getattr(cls, name, None)
    if isinstance(method, FunctionType):
        known = session_of(vars(cls).get(name))
        if known is not None and known.options == options:
            return cls
        inherited = name not in vars(cls) if known is None else known.inherited
        method = method if known is None else known.original
        compiled = compile_function(copy_function(original_of(method)), options)
        session = session_of(compiled)
        if session is not None:
            session.original, session.inherited = method, inherited
        setattr(cls, name, compiled)
        return cls
    return cast(type, warn_without_code(cls, options))


def compile_callable(model: Callable[..., object], options: CompileOptions) -> object:
    """A callable object through its `__call__`; one without Python code, such as a builtin, stays as it is.

    So does what `lru_cache` makes: the function inside, without its cache, is another one.
    """
    # statically: neither a metaclass nor `__getattr__` is asked
    method = inspect.getattr_static(type(model), "__call__", None)
    if isinstance(method, FunctionType):
        method = original_of(method)
        definition = MethodDefinition(type(model), "__call__", method)
        return MethodType(compile_function(copy_function(method), options, definition=definition), model)
    return warn_without_code(model, options)


def warn_without_code(model: object, options: CompileOptions) -> object:
    """The object as it is, with a warning: nothing of it can be compiled."""
    name = f"{type(model).__name__} {show_value(model)}"
    inside = inspect.getattr_static(model, "__wrapped__", None)
    remedy = "compile a function that calls it"
    if isinstance(inside, FunctionType):
        remedy = f"compile the function inside and wrap that, as in lru_cache(compile({name_of(inside)}))"
    elif isinstance(model, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        remedy = "compile what was given to torch.jit.script() or torch.jit.trace() in its place"
    lack = (
        "which has no `__call__` in Python" if isinstance(model, type) else "without Python code of its own"
    )
    warn_once(
        f"compile({name}, {options.text()})",
        f"compile() got {describe_value(model)}, {lack}: it is returned as it is and runs uncompiled; "
        f"{remedy}",
        NotCompiledWarning,
    )
    return model


def session_of(model: object) -> Session | None:
    """The session behind something that `compile` returned, or None.

    `functools.wraps` copies a function's attributes to the wrapper, which may be any object: a session counts only on the
    function that it was made for.
    """
    if isinstance(model, torch.nn.Module):
        model = model.__dict__.get("_compiled_call_impl")
    if isinstance(model, MethodType):
        model = model.__func__
    if _is_partial(model):
        return session_of(model.func)
    session = model.__dict__.get(SESSION_ATTRIBUTE) if isinstance(model, FunctionType) else None
    return session if isinstance(session, Session) and session.is_of(model) else None


def _renew_locks() -> None:
    """In a forked child: no thread that held a lock exists there."""
    REGISTRY.renew_lock()
    CACHES.renew_lock()
    for session in list(LIVE_SESSIONS):
        session.renew_locks()


os.register_at_fork(after_in_child=_renew_locks)


def reset() -> None:
    """Forget every compiled entry of every function, and the counters."""
    LISTENER.reset()
    events.counters.clear()
