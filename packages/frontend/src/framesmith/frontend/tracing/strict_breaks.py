"""`error_on_graph_break`: what `fullgraph=True` is for a whole function, as a manager inside the code.

The managers that are open where the graph breaks say what holds: their `__exit__` is on the stacks of the frames, also
of those that a continuation puts together again.
"""

import contextlib
from types import MethodType
from typing import Final, final

from framesmith.frontend.argument_checks import make_argument_error
from framesmith.frontend.tracing.machine import Machine
from framesmith.guards.sources import Pinned
from framesmith.variables.callables.compiled import is_compiled_strictly
from framesmith.variables.callables.functions import DIRECTIVES, FunctionTracker
from framesmith.variables.callables.methods import BoundMethod
from framesmith.variables.core import Lazy, PendingCall, Rows, TraceContext, Tracker

ROWS: Final = Rows()


@final
class error_on_graph_break(contextlib.ContextDecorator):  # named as torch's
    """Inside of it a graph break is an error (`FullGraphError`), and with False it is none. Also a decorator.

    The innermost one counts; `fullgraph=True` holds in any case. Without a compiler it does nothing.
    """

    def __init__(self, error: bool) -> None:
        if type(error) is not bool:  # written out: this is traced, and each name that it reads is guarded
            raise make_argument_error("error_on_graph_break()", error, "True or False")
        self.error = error

    def __enter__(self) -> None:
        """Nothing to do: being open is what counts."""

    def __exit__(self, *raised: object) -> None:
        """Nothing to do."""


def has_strict_breaks(machine: Machine) -> bool:
    """Whether a graph break at the present operations of the frames is an error."""
    for frame in reversed(machine.frames):
        function = frame.function
        called = function.compiled_as if isinstance(function, FunctionTracker) else None
        if called is not None and is_compiled_strictly(called):
            return True
        for value in reversed(frame.stack):
            error = _error_of(machine.tx, value)
            if error is not None:
                return error
    return False


def _error_of(tx: TraceContext, value: Tracker) -> bool | None:
    """Whether an open manager makes a break an error; None for a value that is no such manager."""
    if isinstance(value, Lazy) and not value.is_realized:
        found = value.peek
        owner = found.__self__ if type(found) is MethodType else None
        return owner.error if type(owner) is error_on_graph_break else None
    method = value.realize() if isinstance(value, Lazy) else value
    if (
        not isinstance(method, BoundMethod)
        or method.receiver.realize().python_type is not error_on_graph_break
    ):
        return None
    return bool(method.receiver.attribute(tx, "error").realize().as_python_constant())


@ROWS.entry(DIRECTIVES, ("torch._dynamo.decorators", "error_on_graph_break"))
def _answer_dynamo_switch(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
    """The manager of the same name in `torch._dynamo`, traced as ours."""
    return tx.wrap(error_on_graph_break, Pinned(error_on_graph_break)).begin_call(tx, args, kwargs)
