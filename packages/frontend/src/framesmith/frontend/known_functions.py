"""Functions of framesmith and of torch's compiler that mean something to the trace, known by module and name.

So neither their modules need to be imported here, nor those of torch at all.
"""

from typing import Final

from framesmith.graph import GraphBreak
from framesmith.graph.break_kinds import EXPLICIT, NATIVE_CALL
from framesmith.variables.callables.functions import DIRECTIVES
from framesmith.variables.core import Constant, PendingCall, Rows, TraceContext, Tracker

ROWS: Final = Rows()
_BREAKS: Final = (
    ("framesmith.frontend.directives", "graph_break"),
    ("torch._dynamo.decorators", "graph_break"),
    ("torch._dynamo.decorators", "skip_frame"),
    ("torch._dynamo.decorators", "step_unsupported"),
)
_QUESTIONS: Final = (
    ("framesmith.frontend.directives", "is_compiling"),
    ("torch._dynamo.external_utils", "is_compiling"),
)


@ROWS.entry(DIRECTIVES, *_BREAKS)
def break_here(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`graph_break()`: always a break; constants among the arguments are its message."""
    shown = [
        argument.as_python_constant()
        for argument in (*args, *kwargs.values())
        if argument.is_python_constant()
    ]
    raise GraphBreak(EXPLICIT, " ".join(str(value) for value in shown if value is not None))


@ROWS.entry(DIRECTIVES, *_QUESTIONS)
def is_compiling(tx: TraceContext) -> Tracker:
    """`is_compiling()`: true."""
    return Constant(True)


@ROWS.entry(DIRECTIVES, ("torch._higher_order_ops.invoke_subgraph", "invoke_subgraph_placeholder"))
def region(tx: TraceContext, function: Tracker, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
    """A function marked with `nested_compile_region`: inlined like any other, which is what the mark means in eager."""
    return function.begin_call(tx, args, kwargs)


@ROWS.entry(DIRECTIVES, ("framesmith.frontend.api", "compile"))
def compile_while_tracing(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """Break the graph: a compiled function is made natively; a call of it is then traced as a call of its original."""
    raise GraphBreak(NATIVE_CALL, "a function is compiled")
