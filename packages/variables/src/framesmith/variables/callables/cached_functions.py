"""Functions under `functools.lru_cache` or `cache`.

The cache is state that outlives the call, and a hit returns the stored object. So the call is not traced. Its
result is an existing value, read from the cache without a call, so that guards run no code and count nothing; the entry
makes each call of the program once, in order, for the counters and for the order in which results are evicted.
"""

import functools
import gc
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import FunctionType, MethodType, TracebackType
from typing import Final, final

import torch

from framesmith.guards import Source
from framesmith.guards.class_lookup import class_name, static_lookup
from framesmith.guards.imported import is_imported
from framesmith.guards.kinds import EqualTo, Identical
from framesmith.guards.sources import Attribute, CallResult, Pinned
from framesmith.variables.callables.early_calls import may_see_changes
from framesmith.variables.callables.methods import BoundMethod
from framesmith.variables.callables.partials import PartialTracker
from framesmith.variables.callables.polyfill_functions import is_polyfill_code
from framesmith.variables.core.base import Arguments, Keywords, PendingCall, TraceContext, Tracker, Writer
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.reach import reachable
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()

_CachedFunction = functools._lru_cache_wrapper
# values that the trace has only as fakes: the function must not be called with these
_OF_THE_GRAPH = torch.Tensor | torch.SymInt | torch.SymFloat | torch.SymBool


@final
class _RealCalls(threading.local):
    """Calls that the trace of this thread made for real. The first run of the entry that the trace leads to skips them;
    the thread that traced runs the entry next. `broke`: the function whose call breaks the graph though it was made, the key of the
    call, and what it raised."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, Hashable]] = []
        self.broke: tuple[object, Hashable, BaseException | None] | None = None


_real_calls: Final = _RealCalls()
_PROMISE: Final = "_dynamo_marked_constant"
"""The attribute that `torch.compiler.assume_constant_result` sets."""
_ONLY_COMPUTING: Final = frozenset({("einops.einops", "_reconstruct_from_shape_uncached")})
"""Cached functions of libraries, by module and name, that compute their results of their arguments alone; these are not changed, and who
asks for them does not ask for the counters of the cache."""
_MOST_MADE: Final = 256  # of traces that came to nothing


@final
class CachedFunctionTracker(Tracker):
    """A cached function. The arguments must be constants or existing objects, and the cache must keep the result.

    A call whose result is stored runs no code. For any other the real call is made while tracing. That is right only
    as long as no change waits for its replay that the called code could see: else a miss breaks the graph.
    A function that `is_known_to_compute` is traced instead where a number that varies is among its arguments.
    """

    def __init__(self, value: Callable[..., object], source: Source) -> None:
        self.value = value
        self.source = source
        self._calls: list[CachedResult] = []

    @property
    def python_type(self) -> type:
        """The type of the wrapper that `lru_cache` makes."""
        return _CachedFunction

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """The stored result, or the result of the real call, as an existing value read from the cache."""
        if is_known_to_compute(self.value) and any(
            one.is_run_time_number for one in reachable(args).values()
        ):
            function: object = vars(self.value)["__wrapped__"]
            return tx.wrap(
                function, Attribute(Pinned(self.value, self.describe()), "__wrapped__")
            ).begin_call(tx, args, kwargs)
        # the cache keys by the very arguments, so they have to be known
        positional = [self._known(tx, argument.realize()) for argument in args]
        keywords = {name: self._known(tx, argument.realize()) for name, argument in kwargs.items()}
        here = Pinned(self.value, self.describe())
        # a key only: the function is not called
        stored = CachedResult(self.value, positional, keywords)
        self._check_size(stored)
        # a call that the program makes twice is made twice: counters and order of eviction show it
        earlier = Counter(call.key for call in self._calls)[stored.key]
        if _real_calls.broke is not None and _real_calls.broke[:2] == (self.value, stored.key):
            _real_calls.broke = None  # of a trace that came to nothing
        # an earlier attempt of this trace made the call already: the program makes it once
        is_made = earlier < _real_calls.calls.count((self.value, stored.key)) and stored.is_stored(self.value)
        if not is_made:
            self._make(tx, stored, here)
        self._calls.append(stored)
        # replay makes the calls
        tx.changes.note(self)
        return tx.wrap(stored(self.value), CallResult(here, stored))

    def _check_size(self, stored: "CachedResult") -> None:
        """Break unless the cache can hold the results of all calls of the trace until the entry has run."""
        # `functools.lru_cache` sets it; a wrapper that was made directly has none
        settings: dict[str, int | None] = getattr(self.value, "cache_parameters", dict)()
        maxsize = settings.get("maxsize")
        if maxsize is not None and len({stored.key, *(call.key for call in self._calls)}) > maxsize:
            self.unsupported("calling it: its cache does not keep the result")

    def _make(self, tx: TraceContext, stored: "CachedResult", here: Pinned) -> None:
        """Make the real call; breaks the graph if it raises, is not stored, changes what the trace has read, or could see changes
        that wait for replay."""
        waiting = [
            changed
            for changed in tx.changes.changed_trackers()
            if not isinstance(changed, CachedFunctionTracker)
        ]
        # a stored result runs no code, so what waits for replay cannot be seen; nor does what is promised to be constant see it
        sees_nothing = stored.is_stored(self.value) or self._is_promised()
        if not sees_nothing and self._may_see(tx, waiting, stored):
            # once the cache holds the result, a trace without this break is right
            tx.guard(CallResult(here, stored.is_stored), EqualTo(False))
            self.unsupported("calling it: its code would not see what the trace changed")
        # the operation that runs natively makes the call, unless it is a call of this very function (`finish_call`), and nothing has
        # to be read again after it
        makes = self._is_called(tx) and not tx.changes.has_state_numbers
        if not (stored.is_stored(self.value) or makes or tx.changes.must_not_break):
            tx.guard(CallResult(here, stored.is_stored), EqualTo(False))
            self.unsupported("calling it: it may raise, or change what the trace has read")
        runs_code = not stored.is_stored(self.value)
        outdated = tx.changes.find_outdated() if runs_code else frozenset[int]()
        # what the function computes belongs to no call of the entry
        with tx.graph.pause_recording():
            result: object = None
            raised = False
            try:
                result = stored.make(self.value)
            # eager raises in each call, since lru_cache stores no exception
            except BaseException as error:
                # from the frame of the function on: those before are of the trace
                error.__traceback__ = _without_own_frames(error.__traceback__)
                _real_calls.broke = (self.value, stored.key, error)
                raised = True
            if raised:  # outside of the handler: the break would have the exception as its context, and that is taken apart
                tx.changes.keeps_reads = True
                self.unsupported("calling it: it raises")
        # the cache may have been cleared, or the result pushed out, by the function itself
        if not stored.is_stored(self.value) or stored(self.value) is not result:
            self.unsupported("calling it: its cache does not keep the result")
        _real_calls.calls.append((self.value, stored.key))
        # traces that failed leave their calls behind, which no entry takes off
        del _real_calls.calls[:-_MOST_MADE]
        if runs_code and not self._is_promised() and tx.changes.find_outdated() - outdated:
            _real_calls.broke = (self.value, stored.key, None)
            tx.changes.keeps_reads = True
            self.unsupported("calling it: it changes what the trace has read")

    def _may_see(self, tx: TraceContext, waiting: Sequence[Tracker], stored: "CachedResult") -> bool:
        """Whether the call may come upon an object that the trace has changed, which is as it was still."""
        function = vars(self.value).get("__wrapped__")
        start = (function, *stored.arguments())
        if type(function) is not FunctionType:
            return bool(waiting) or tx.graph.has_changes
        return may_see_changes(tx, waiting, start)

    def _is_called(self, tx: TraceContext) -> bool:
        """Whether the operation of the program that is traced is a call of this function: itself, bound, or in a `partial`."""
        code = None if tx.graph.asking is None else tx.graph.asking()[0]
        called = tx.changes.called
        return (
            called is not None
            and find_cached_function(called) is self
            and (code is None or not is_polyfill_code(code))
        )

    def _is_promised(self) -> bool:
        """Whether the cached function is marked with `torch.compiler.assume_constant_result`."""
        function = vars(self.value).get("__wrapped__")
        return isinstance(function, FunctionType) and bool(vars(function).get(_PROMISE))

    def _known(self, tx: TraceContext, argument: Tracker) -> object:
        """The value of an argument: a constant, or an existing object, guarded by identity. Others break the graph."""
        value = getattr(argument, "value", None)
        if argument.is_python_constant():
            value = argument.as_python_constant()
        elif (
            value is None
            or isinstance(value, _OF_THE_GRAPH)
            or argument.source is None
            or tx.changes.is_changed(argument)
        ):
            return self.unsupported(f"calling it with {argument.describe()}")
        else:
            tx.guard(argument, Identical(value))
        # a guard reads the cache by this key in each call
        if not _hashes_natively(value):
            return self.unsupported(f"calling it with {argument.describe()}")
        return value

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Attributes that `update_wrapper` stored: `__wrapped__`, `__name__` ..."""
        assert self.source is not None
        if name in vars(self.value):
            return tx.wrap(vars(self.value)[name], Attribute(self.source, name))
        if name in ("cache_info", "cache_clear", "cache_parameters") or name.startswith("__"):
            return self.unsupported(f"reading attribute {name!r}")
        return raise_observed(
            tx, AttributeError, f"'functools._lru_cache_wrapper' object has no attribute '{name}'"
        )

    def replay(self, writer: Writer) -> None:
        """Repeat the calls of the trace, so that counters and the order of eviction are those of eager."""
        again = writer.constant(call_unless_made, "call_unless_made")
        function = writer.constant(self.value, "cached")
        for call in self._calls:
            writer.statement(f"{again}({function}, {writer.constant(call, 'call')})")

    def truth(self, tx: TraceContext) -> bool:
        """A function is true."""
        return True

    def describe(self) -> str:
        """`cached function f`."""
        return f"cached function {getattr(self.value, '__qualname__', '?')}"


def is_known_to_compute(cached: object) -> bool:
    """Whether a cached function is known to compute: tracing it gives what its cache does, for sizes that vary as well."""
    function = vars(cached).get("__wrapped__")
    if type(function) is not FunctionType:
        return False
    place = (function.__module__, function.__qualname__)
    return place in _ONLY_COMPUTING and is_imported(function)


@final
class CachedResult:
    """The result of one call of a cached function with known arguments, read from the cache."""

    def __init__(
        self, function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> None:
        self._args = args
        self._kwargs = kwargs
        self.key = self._key_of(function)

    def _key_of(self, function: Callable[..., object]) -> Hashable:
        """The cache's key of the arguments. How C makes it is not public, so
        a cached empty function is called with them and its key is taken."""
        settings: dict[str, bool] = getattr(function, "cache_parameters", dict)()
        # `typed` is part of how the key is made; the size of the cache is not
        twin = functools.lru_cache(typed=settings.get("typed", False))(lambda *args, **kwargs: None)
        self.make(twin)
        return next(iter(_cache_content(twin)[0]))

    def arguments(self) -> tuple[object, ...]:
        """All that is passed."""
        return *self._args, *self._kwargs.values()

    def make(self, function: Callable[..., object]) -> object:
        """Call the function with the arguments."""
        return function(*self._args, **self._kwargs)

    def is_stored(self, function: object) -> bool:
        """Whether the cache holds the result, so that a call would run no code of the user."""
        return self.key in _cache_content(function)[0]

    def __call__(self, function: object) -> object:
        """The result, read from the cache without a call; KeyError if it is not stored."""
        results, linked = _cache_content(function)
        found = results[self.key]
        if type(found) is not _LINK:
            return found
        # the cache's own key object: in what the collector gives, the result follows it
        key = next(key for key, link in results.items() if link is found)
        return next(linked[place + 1] for place in range(0, len(linked), 3) if linked[place] is key)


def call_unless_made(function: Callable[..., object], call: CachedResult) -> None:
    """Make a call of the program, unless the trace made it already: then it is removed from the list of those."""
    if (function, call.key) in _real_calls.calls:
        _real_calls.calls.remove((function, call.key))
    else:
        call.make(function)


def find_cached_function(callee: Tracker) -> CachedFunctionTracker | None:
    """The cached function that a call of this value calls: itself, or what a method or a `partial` calls."""
    callee = callee.realize()
    while isinstance(callee, BoundMethod | PartialTracker):
        callee = callee.function.realize()
    return callee if isinstance(callee, CachedFunctionTracker) else None


def has_broken(callee: Tracker) -> bool:
    """Whether a call of the cached function that this value calls was made while this thread traced, and breaks the graph."""
    function = find_cached_function(callee)
    return function is not None and _real_calls.broke is not None and _real_calls.broke[0] is function.value


def finish_call(callee: Callable[..., object], *args: object, **kwargs: object) -> object:
    """Give what this very call has given while tracing, or raise that, once; else make it."""
    function, given, keywords = _called_by(callee, args, kwargs)
    broke, call = _real_calls.broke, CachedResult(function, given, keywords)
    if broke is None or broke[:2] != (function, call.key):
        return callee(*args, **kwargs)
    _real_calls.broke = None
    error = broke[2]
    del broke
    if error is None:
        call_unless_made(function, call)
        return call(function)
    try:
        raise error
    finally:
        del error  # its traceback refers to this frame: a ring


def _called_by(
    callee: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> tuple[Callable[..., object], tuple[object, ...], dict[str, object]]:
    """The function that a method or a `partial` calls, and with what."""
    while True:
        if type(callee) is MethodType:
            args = (callee.__self__, *args)
            callee = callee.__func__
        elif type(callee) is functools.partial:
            args, kwargs = (*callee.args, *args), {**callee.keywords, **kwargs}
            callee = callee.func
        else:
            return callee, args, kwargs


def _without_own_frames(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_frame.f_globals.get("__name__") == __name__:
        traceback = traceback.tb_next
    return traceback


def _cache_content(function: object) -> tuple[dict[Hashable, object], list[object]]:
    """The content of a cache, which `gc.get_referents` gives: the dictionary from keys to results, or to links where
    the cache is bounded; and then key, result, type of the link for each of them."""
    inside = gc.get_referents(function)
    place = 1  # behind the type
    while place + 2 < len(inside) and inside[place + 2] is _LINK:
        place += 3
    found = inside[place]
    return (found, inside[1:place]) if type(found) is dict else ({}, [])


def _link_type() -> type | None:
    """The type of the links in a bounded cache, which has no name that could be imported."""
    sample = functools.lru_cache(lambda: None)
    sample()
    links = [
        type(value) for item in gc.get_referents(sample) if type(item) is dict for value in item.values()
    ]
    return next((cls for cls in links if class_name(cls) == "_lru_list_elem"), None)


_LINK: Final = _link_type()


def _hashes_natively(value: object) -> bool:
    """Whether hashing and comparing a key with this value runs no Python method."""
    if isinstance(value, tuple | frozenset):
        return all(map(_hashes_natively, value))
    return static_lookup(type(value), "__hash__") is not None and not any(
        isinstance(static_lookup(type(value), name), FunctionType) for name in ("__hash__", "__eq__")
    )


@ROWS.wrap(_CachedFunction)
def wrap_cached_function(tx: TraceContext, value: object, source: Source) -> Tracker:
    """A cached function, guarded by identity."""
    assert callable(value)
    tx.guard(source, Identical(value))
    return CachedFunctionTracker(value, source)
