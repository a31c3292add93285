"""Functions that were marked through `torch._dynamo`: `allow_in_graph`, `nonstrict_trace`, `forbid_in_graph`."""

from typing import Final

from framesmith.frontend.errors import ForbiddenInGraph
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL, UNSUPPORTED_ARGUMENT
from framesmith.guards.kinds import Identical
from framesmith.variables.callables.functions import MARKED_CALLS, FunctionTracker
from framesmith.variables.core import Arguments, Keywords, Rows, TraceContext, Tracker
from framesmith.variables.core.builtin_type import builtin_type
from framesmith.variables.core.torch_rules import forbids, is_allowed
from framesmith.variables.torch_functions.graph_calls import graph_call

ROWS: Final = Rows()


@ROWS.entry(MARKED_CALLS, "allowed and forbidden in graphs")
def begin_marked_call(
    tx: TraceContext, function: FunctionTracker, args: Arguments, kwargs: Keywords
) -> Tracker | None:
    """One node that calls the function, for what is allowed in graphs. Raises ForbiddenInGraph for what is forbidden.

    A call that no node can hold (an argument that is no tensor and no constant) breaks the graph and runs natively.
    """
    value = function.value
    if forbids(value.__dict__):
        if value.__module__.startswith("torch."):  # what torch says of its own settings, such as `set_stance`
            raise GraphBreak(
                NATIVE_CALL, f"{value.__module__}.{value.__qualname__}, which always runs natively"
            )
        raise ForbiddenInGraph(
            f"{value.__module__}.{value.__qualname__} is marked with forbid_in_graph and is called by a compiled function; call it "
            f"outside, or remove the mark. The call (most recent call last):\n{tx.graph.user_stack()}"
        )
    if not is_allowed(value):
        return None
    # the mark belongs to this function: another one in its place may have none
    tx.guard(function, Identical(value))
    operands = [argument.realize() for argument in args]
    keywords = {name: argument.realize() for name, argument in kwargs.items()}
    if any(_can_change(tx, operand) for operand in (*operands, *keywords.values())):
        raise GraphBreak(
            UNSUPPORTED_ARGUMENT,
            f"a list, dict or set for {value.__module__}.{value.__qualname__}, which may change it",
        )
    return graph_call(tx, value, operands, keywords)


def _can_change(tx: TraceContext, operand: Tracker) -> bool:
    """Whether a function that is not traced could change the operand unseen: a node gets a copy of a container."""
    row = builtin_type(tx, operand.python_type)
    if row is None or row.is_mutable:
        return row is not None
    return row.cls is tuple and any(_can_change(tx, one.realize()) for one in operand.children())
