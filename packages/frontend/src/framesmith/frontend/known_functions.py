"""Functions of framesmith and of torch's compiler that mean something to the trace.

Those of torch are known by module and name, so that its compiler need not be imported. So is `compile`, which is above
this module.
"""

from collections.abc import Callable
from types import CodeType
from typing import Final

import torch
from torch.optim.optimizer import _use_grad_for_differentiable

from framesmith.frontend.argument_checks import check_text
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import EXPLICIT, NATIVE_CALL
from framesmith.variables.callables.functions import DIRECTIVES
from framesmith.variables.core import Constant, PendingCall, Rows, TraceContext, Tracker

ROWS: Final = Rows()
_BREAKS: Final = (
    ("torch._dynamo.decorators", "graph_break"),
    ("torch._dynamo.decorators", "skip_frame"),
    ("torch._dynamo.decorators", "step_unsupported"),
)
_STEP: Final = next(
    (
        constant
        for constant in _use_grad_for_differentiable.__code__.co_consts
        # on 3.14 and later its annotations have code too
        if isinstance(constant, CodeType) and constant.co_name == "_use_grad"
    ),
    None,
)
"""The code around the step of every optimizer. It asks for breaks for the sake of torch's compiler, whose graphs do not
keep the grad mode in which the step runs."""
_QUESTION: Final = ("torch._dynamo.external_utils", "is_compiling")


def graph_break(msg: str = "") -> None:
    """Break the graph here when traced; nothing otherwise. `msg` is shown where the break is reported."""
    check_text("graph_break()", "msg", msg)


def is_compiling() -> bool:
    """True while a function is being traced, False when it runs natively."""
    return torch.compiler.is_compiling()


@ROWS.call(graph_break)
@ROWS.entry(DIRECTIVES, *_BREAKS)
def call_graph_break(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`graph_break()`: a break, but for those that torch asks for; constants among the arguments are its message."""
    # asked by the wrapper that torch puts around a step, not by the program
    if _STEP is not None and tx.graph.asking is not None and tx.graph.asking()[0] is _STEP:
        return Constant(None)
    shown = [
        argument.as_python_constant()
        for argument in (*args, *kwargs.values())
        if argument.is_python_constant()
    ]
    raise GraphBreak(EXPLICIT, " ".join(str(value) for value in shown if value is not None))


@ROWS.call(is_compiling)
@ROWS.entry(DIRECTIVES, _QUESTION)
def answer_is_compiling(tx: TraceContext) -> Tracker:
    """`is_compiling()`: true, unless the program raises for it."""
    return Constant(tx.changes.tell_compiling())


@ROWS.entry(DIRECTIVES, ("torch._higher_order_ops.invoke_subgraph", "invoke_subgraph_placeholder"))
def inline_region(
    tx: TraceContext, function: Tracker, *args: Tracker, **kwargs: Tracker
) -> Tracker | PendingCall:
    """A function marked with `nested_compile_region`: a call like an earlier one is repeated, others are inlined."""
    if tx.call_module is None:
        return function.begin_call(tx, args, kwargs)
    return tx.call_module.call_region(
        tx, function, args, kwargs, lambda: function.begin_call(tx, args, kwargs)
    )


_TO_THE_COMPILER: Final = {
    "framesmith.frontend.api": ("compile", "compile.<locals>.decorate", "reset", "uncompile"),
    "framesmith.frontend.directives": (
        "allow_in_graph",
        "assume_constant_result",
        "disable",
        "disable.<locals>.decorate",
        "substitute_in_graph",
        "substitute_in_graph.<locals>.register",
    ),
    "framesmith.frontend.dynamic_marks": (
        "mark_dynamic",
        "mark_static",
        "mark_unbacked",
        "maybe_mark_dynamic",
    ),
    "framesmith.frontend.explain": ("explain", "explain.<locals>.run"),
    "framesmith.frontend.export": ("export", "export.<locals>.run"),
    "framesmith.graph.backends.backend": ("list_backends", "register_backend"),
}
"""Our own functions with which a program speaks to the compiler, by module."""


def _run_natively(name: str) -> Callable[..., Tracker]:
    def directive(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        raise GraphBreak(NATIVE_CALL, f"frontend.{name}, which always runs natively")

    return directive


for _module, _names in _TO_THE_COMPILER.items():
    for _name in _names:
        # What it makes is real then, with its marks: a call of it is traced, or breaks, as if it had been made outside.
        ROWS.entry(DIRECTIVES, (_module, _name))(_run_natively(_name.partition(".")[0]))
