"""Functions that represent inlined frames while an operation that reports its caller runs natively.

    helper():  warnings.warn("old", stacklevel=2)        inlined into f
    ->  the entry of f calls `helper`, a synthetic frame with the name, file, line and globals of the frame, which calls warnings.warn

so that a warning and a log record name the line that they name in eager (ADR 0016). Not here: operations that read the
variables of their caller. The frames of those run natively as a whole.
"""

import abc
import dataclasses
import enum
import logging
import typing
import warnings
from collections import namedtuple
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Final

from framesmith.frontend.generated.synthetic_frames import make_synthetic_frame
from framesmith.frontend.tracing.frame_places import places_of
from framesmith.frontend.tracing.library_calls import is_library_code
from framesmith.frontend.tracing.machine import Frame
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL, PRINT_OR_LOG
from framesmith.guards.sources import Pinned
from framesmith.variables.callables.functions import DIRECTIVES, FunctionTracker
from framesmith.variables.callables.methods import BoundMethod
from framesmith.variables.core import Constant, Lazy, PendingCall, Rows, TraceContext, Tracker

ROWS: Final = Rows()

# Exact classes: a subclass may have an `isEnabledFor` with effects.
_OWN_LOGGERS: Final = (logging.Logger, logging.RootLogger)
# These take the `__module__` of what they make from the frame that calls them.
_CLASS_MAKERS: Final[tuple[object, ...]] = (
    *(namedtuple, dataclasses.make_dataclass),
    *(
        getattr(typing, name)
        for name in ("NamedTuple", "NewType", "ParamSpec", "TypedDict", "TypeVar", "_caller")
    ),
)
# The hooks of protocols allow what they forbid otherwise to callers in `abc` and `functools`.
_CLASS_CHECKS: Final[tuple[object, ...]] = (
    *(isinstance, issubclass),
    *(getattr(abc, f"_abc_{name}") for name in ("register", "instancecheck", "subclasscheck")),
)
# `compile` takes the future statements of the frame that calls it
_NAMING: Final[tuple[object, ...]] = (
    *(warnings.warn, logging.Logger._log, compile),
    *_CLASS_MAKERS,
    *_CLASS_CHECKS,
)


def names_its_caller(value: Tracker) -> bool:
    """Whether a value is a function that reports the line of its caller, makes a class in the caller's module, takes its future
    statements, or runs hooks of classes that ask for its module, and reads nothing else of it. A function of a library may do any of it."""
    if isinstance(value, Lazy) and not value.is_realized:
        # not realized: that would add guards on a value which the native operation takes as it is
        found = value.peek
    else:
        tracker = value.realize()
        if isinstance(tracker, BoundMethod):
            tracker = tracker.function.realize()
        known = tracker.is_python_constant() or isinstance(tracker, FunctionTracker)
        found = getattr(tracker, "value", None) if known else None
    if type(found) is MethodType:
        found = found.__func__
    if type(found) is FunctionType and is_library_code(found.__code__):
        return True
    # a call of a metaclass, or of a class such as `Enum`, may make a class
    if isinstance(found, type) and (issubclass(found, type) or type(found) is enum.EnumMeta):
        return True
    # by identity: `in` would run the `__eq__` of the user's callable
    return any(found is one for one in _NAMING)


def synthetic_frame_for(frames: Sequence[Frame]) -> Callable[..., object]:
    """A function that calls its first argument with the others, through one function for each of these frames.

    `frames` are given from the outermost; those of polyfills are left out, since the user did not write them.
    """
    function = make_synthetic_frame(places_of(frames))
    assert function is not None
    return function


@ROWS.entry(
    DIRECTIVES, ("collections", "namedtuple"), ("dataclasses", "make_dataclass"), ("typing", "_caller")
)
def _make_class_natively(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    raise GraphBreak(NATIVE_CALL, "what is made belongs to the module of the caller")


@ROWS.entry(DIRECTIVES, ("logging", "Logger._log"), ("logging", "basicConfig"))
def _log_natively(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    raise GraphBreak(PRINT_OR_LOG, "a message is logged")


@ROWS.entry(DIRECTIVES, ("logging", "Logger.isEnabledFor"))
def _ask_for_level(tx: TraceContext, logger: Tracker, level: Tracker) -> Tracker | PendingCall:
    """`Logger.isEnabledFor`: what a logger has not cached it is asked now, since it takes a lock. The trace reads the
    cached answer, which a change of any level clears."""
    real, known = getattr(logger, "value", None), level.realize()
    if logger.source is not None and not tx.changes.is_changed(logger):
        cache = logger.attribute(tx, "_cache").realize()
        asked = known.value if isinstance(known, Constant) else None
        if type(real) in _OWN_LOGGERS and isinstance(asked, int) and not tx.changes.is_changed(cache):
            assert isinstance(real, logging.Logger)
            # fills the cache that is read below, and has no other effect
            real.isEnabledFor(asked)
        if cache.contains(tx, known).truth(tx) is not True:
            raise GraphBreak(PRINT_OR_LOG, "a logger is asked for a level for the first time")
    function = logging.Logger.isEnabledFor
    assert isinstance(function, FunctionType)
    return FunctionTracker(function, Pinned(function, "Logger.isEnabledFor")).bind(tx, (logger, level), {})
