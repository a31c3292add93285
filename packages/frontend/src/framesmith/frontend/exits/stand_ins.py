"""Functions that represent inlined frames while an operation that reports its caller runs natively.

    helper():  warnings.warn("old", stacklevel=2)        inlined into f
    ->  the entry of f calls `helper`, a stand-in with the name, file, line and globals of the frame, which calls warnings.warn

so that a warning and a log record name the line that they name in eager (ADR 0016). Not here: operations that read the
variables of their caller. The frames of those run natively as a whole.
"""

import logging
import warnings
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Final

from framesmith.frontend.generated.functions import Identity, generate_function
from framesmith.frontend.tracing.machine import Frame
from framesmith.frontend.tracing.user_stack import location
from framesmith.graph import GraphBreak
from framesmith.graph.break_kinds import NATIVE_CALL
from framesmith.guards.names import PREFIX
from framesmith.guards.sources import Pinned
from framesmith.variables.callables.functions import DIRECTIVES, FunctionTracker
from framesmith.variables.callables.methods import BoundMethod
from framesmith.variables.callables.polyfill_functions import is_polyfill_code
from framesmith.variables.core import Lazy, PendingCall, Rows, TraceContext, Tracker

ROWS: Final = Rows()

_NAMING: Final[tuple[object, ...]] = (warnings.warn, logging.Logger._log)


def names_its_caller(value: Tracker) -> bool:
    """Whether a value is a function that reports the line of its caller, and reads nothing else of it."""
    if isinstance(value, Lazy) and not value.is_realized:
        found = value.peek
    else:
        tracker = value.realize()
        if isinstance(tracker, BoundMethod):
            tracker = tracker.function.realize()
        known = tracker.is_python_constant() or isinstance(tracker, FunctionTracker)
        found = getattr(tracker, "value", None) if known else None
    if type(found) is MethodType:
        found = found.__func__
    return any(found is one for one in _NAMING)


def stand_in_for(frames: Sequence[Frame]) -> Callable[..., object]:
    """A function that calls its first argument with the others, through one function for each of these frames.

    `frames` are given from the outermost; those of polyfills are left out, since the user did not write them.
    """
    function: FunctionType | None = None
    for frame in reversed([frame for frame in frames if not is_polyfill_code(frame.code)]):
        line = location(frame).line
        inner = f"{PREFIX}inner"
        call = f"{PREFIX}f(*args, **kwargs)" if function is None else f"{inner}({PREFIX}f, *args, **kwargs)"
        lines = [
            (f"try: return {call}", line),
            (f"except BaseException as {PREFIX}x:", line),
            (f" {PREFIX}x.__traceback__ = {PREFIX}x.__traceback__.tb_next", line),  # the frame is named apart
            (" raise", line),
        ]
        held = {} if function is None else {inner: function}
        function = generate_function(
            f"{PREFIX}f, /, *args, **kwargs", lines, held, Identity.of(frame.code), frame.namespace.value
        )
    assert function is not None
    return function


@ROWS.entry(DIRECTIVES, ("logging", "Logger._log"))
def _log_natively(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    raise GraphBreak(NATIVE_CALL, "a message is logged")


@ROWS.entry(DIRECTIVES, ("logging", "Logger.isEnabledFor"))
def _ask_natively(tx: TraceContext, logger: Tracker, level: Tracker) -> Tracker | PendingCall:
    """`Logger.isEnabledFor`: a logger that has not cached the answer takes a lock, so the whole call runs natively.

    A break inside of it would not do: frames that are resumed natively have lost those that called them.
    """
    if logger.source is not None:
        known = logger.attribute(tx, "_cache").realize().contains(tx, level)
        if known.truth(tx) is not True:
            raise GraphBreak(NATIVE_CALL, "a logger is asked for a level for the first time")
    function = logging.Logger.isEnabledFor
    assert isinstance(function, FunctionType)
    return FunctionTracker(function, Pinned(function, "Logger.isEnabledFor")).bind(tx, (logger, level), {})
