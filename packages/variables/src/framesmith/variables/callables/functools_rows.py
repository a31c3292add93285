"""`functools`: what is written in C there. The rest of the module is Python code and is traced as such.

`partial` stands in `partials`, `cached_property` in `objects.descriptors`.
"""

import functools
import gc
from collections.abc import Callable, Mapping, Sequence
from typing import final

import torch

from framesmith.guards import Source
from framesmith.guards.kinds import EqualTo, Identical
from framesmith.guards.sources import Attribute, CallResult, Pinned
from framesmith.variables.builtin_types.dicts import new_dict
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.attribute_functions import attribute_or_none
from framesmith.variables.callables.functions import FunctionTracker, NestedFunction, PythonCallable
from framesmith.variables.callables.traced_forms import traced_form
from framesmith.variables.core.base import Arguments, Keywords, PendingCall, TraceContext, Tracker
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.table import CALLABLES
from framesmith.variables.core.wrap_rules import WRAP_RULES
from framesmith.variables.polyfills import functools as polyfills

_CachedFunction = functools._lru_cache_wrapper
_OF_THE_GRAPH = torch.Tensor | torch.SymInt | torch.SymFloat | torch.SymBool


@CALLABLES.row(functools.reduce)
def reduce(
    tx: TraceContext, function: Tracker, iterable: Tracker, initial: Tracker | None = None, /
) -> Tracker | PendingCall:
    """`functools.reduce`."""
    operands = (function, iterable) if initial is None else (function, iterable, initial)
    return traced_form(polyfills.reduce).bind(tx, operands, {})


@CALLABLES.row(functools.cmp_to_key)
def cmp_to_key(tx: TraceContext, mycmp: Tracker) -> Tracker | PendingCall:
    """`functools.cmp_to_key`."""
    return traced_form(polyfills.cmp_to_key).bind(tx, (mycmp,), {})


@CALLABLES.row(functools.update_wrapper)
def update_wrapper(
    tx: TraceContext,
    wrapper: Tracker,
    wrapped: Tracker,
    assigned: Tracker | None = None,
    updated: Tracker | None = None,
) -> Tracker | PendingCall:
    """`functools.update_wrapper` for a function made in the trace; other wrappers run the library's code."""
    names = _names(assigned, functools.WRAPPER_ASSIGNMENTS)
    if not isinstance(wrapper, NestedFunction) or names is None:
        given = [operand for operand in (assigned, updated) if operand is not None]
        return traced_form(functools.update_wrapper).bind(tx, (wrapper, wrapped, *given), {})
    if _names(updated, functools.WRAPPER_UPDATES) != functools.WRAPPER_UPDATES:
        return wrapper.unsupported("functools.update_wrapper with `updated`")
    for name in names:
        value = _metadata(tx, wrapped, name)
        if value is not None:
            wrapper.set_attribute(tx, name, value)
    for name, value in _own_attributes(tx, wrapped).items():
        wrapper.set_attribute(tx, name, value)
    wrapper.set_attribute(tx, "__wrapped__", wrapped)
    return wrapper


def _names(given: Tracker | None, default: tuple[str, ...]) -> tuple[str, ...] | None:
    """The names in an argument; None when they are not known."""
    if given is None:
        return default
    value = given.as_python_constant() if given.is_python_constant() else None
    return value if isinstance(value, tuple) else None


def _metadata(tx: TraceContext, function: Tracker, name: str) -> Tracker | None:
    """`__name__`, `__annotations__` and the like; None when the wrapped object has none."""
    if isinstance(function, NestedFunction) and name not in function.attributes:
        if name == "__type_params__":
            return TupleTracker(())
        if name == "__annotations__":
            function.set_attribute(tx, name, _annotations(function))
    return attribute_or_none(tx, function, name)


def _annotations(function: NestedFunction) -> Tracker:
    """The dictionary of a function's annotations; the compiler gives a flat tuple of names and values."""
    given = function.annotations
    if given is None:
        return new_dict([])
    if not isinstance(given, TupleTracker):
        return given
    return new_dict(list(zip(given.items[::2], given.items[1::2], strict=True)))


def _own_attributes(tx: TraceContext, function: Tracker) -> dict[str, Tracker]:
    """What `function.__dict__` holds."""
    if isinstance(function, FunctionTracker):
        return {name: function.attribute(tx, name) for name in vars(function.value)}
    if isinstance(function, NestedFunction):
        special = {*functools.WRAPPER_ASSIGNMENTS, "__annotations__", "__type_params__"}
        return {name: value for name, value in function.attributes.items() if name not in special}
    return function.unsupported("functools.update_wrapper from it")


@final
class CachedFunctionTracker(PythonCallable):
    """A function under `lru_cache` or `cache`.

    The cache is state that outlives the call, and a hit gives the very object that was stored. So the call is not
    traced: with constants and existing objects for arguments it is made for real, and its result is a value that is
    read by making the same call again. While changes wait to be replayed, that is right only for a hit, which runs no
    code that could see them: a miss breaks the graph, as long as it is one. Any other call breaks the graph.
    """

    def __init__(self, value: Callable[..., object], source: Source) -> None:
        self.value = value
        self.source = source

    @property
    def python_type(self) -> type:
        """The wrapper's type."""
        return _CachedFunction

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """The stored result, or that of the real call."""
        positional = [self._known(tx, argument.realize()) for argument in args]
        keywords = {name: self._known(tx, argument.realize()) for name, argument in kwargs.items()}
        here = Pinned(self.value, self.describe())
        call = _Again(positional, keywords)
        if tx.mutations.changed() and not call.is_stored(self.value):
            tx.guard(CallResult(here, call.is_stored), EqualTo(False))
            return self.unsupported("calling it: its code would not see what the trace changed")
        with tx.graph.paused():
            try:
                result = call(self.value)
            except Exception:
                return self.unsupported("calling it: it raises")
        if not call.is_stored(self.value):
            return self.unsupported("calling it: its cache does not keep the result")
        return tx.wrap(result, CallResult(here, call))

    def _known(self, tx: TraceContext, argument: Tracker) -> object:
        """An argument that the cache can compare: a constant, or an existing object, guarded by identity."""
        value = getattr(argument, "value", None)
        if argument.is_python_constant():
            value = argument.as_python_constant()
        elif (
            value is None
            or isinstance(value, _OF_THE_GRAPH)
            or argument.source is None
            or tx.mutations.is_changed(argument)
        ):
            return self.unsupported(f"calling it with {argument.describe()}")
        else:
            tx.guard(argument, Identical(value))
        try:
            hash(value)
        except TypeError:
            return self.unsupported(f"calling it with {argument.describe()}")
        return value

    def attribute(self, tx: TraceContext, name: str) -> Tracker:
        """What `update_wrapper` put there: `__wrapped__`, `__name__` ..."""
        assert self.source is not None
        if name in vars(self.value):
            return tx.wrap(vars(self.value)[name], Attribute(self.source, name))
        if name in ("cache_info", "cache_clear", "cache_parameters") or name.startswith("__"):
            return self.unsupported(f"reading attribute {name!r}")
        return raise_observed(
            AttributeError, f"'functools._lru_cache_wrapper' object has no attribute '{name}'"
        )

    def truth(self, tx: TraceContext) -> bool:
        """A function is true."""
        return True

    def describe(self) -> str:
        """`cached function f`."""
        return f"cached function {getattr(self.value, '__qualname__', '?')}"


@final
class _Again:
    """The call of a cached function with arguments that are known."""

    def __init__(self, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        self._args = args
        self._kwargs = kwargs
        self._keys: list[object] = []

    def __call__(self, function: Callable[..., object]) -> object:
        """Make it."""
        return function(*self._args, **self._kwargs)

    def is_stored(self, function: object) -> bool:
        """Whether the cache holds its result already, so that no code would run.

        How C makes a key of the arguments is its own affair: a twin over an empty function makes one of the same form.
        """
        if not self._keys:
            settings: dict[str, bool] = getattr(function, "cache_parameters", dict)()
            twin = functools.lru_cache(**settings)(lambda *args, **kwargs: None)
            self(twin)
            self._keys = [*_results(twin)]
        stored = _results(function)
        return any(key in stored for key in self._keys)


def _results(function: object) -> dict[object, object]:
    """The dictionary from keys to results inside a cached function, found through the garbage collector's eyes."""
    inside = (
        item for item in gc.get_referents(function) if type(item) is dict and item is not vars(function)
    )
    return next(inside, {})


@WRAP_RULES.exact(_CachedFunction)
def wrap_cached_function(tx: TraceContext, value: object, source: Source) -> Tracker:
    """A cached function is guarded by identity."""
    assert callable(value)
    tx.guard(source, Identical(value))
    return CachedFunctionTracker(value, source)
