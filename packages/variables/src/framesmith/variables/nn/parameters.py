"""New parameters. How a graph gets a new leaf is in `tensors.new_leaves`."""

from typing import Final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.tensors.new_leaves import explain_no_leaf, make_leaf
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()


@ROWS.call(torch.nn.Parameter)
def make_parameter(
    tx: TraceContext, data: Tracker | None = None, requires_grad: Tracker | None = None
) -> Tracker:
    """`nn.Parameter(data, requires_grad)` of a plain tensor that the trace computed. Breaks the graph for anything else."""
    data = None if data is None else data.realize()
    given = Constant(True) if requires_grad is None else requires_grad.realize()
    flag = given.as_python_constant() if given.is_python_constant() else None
    if not isinstance(data, TensorTracker) or type(flag) is not bool:
        raise GraphBreak(NATIVE_CALL, "a parameter is created")
    problem = explain_no_leaf(tx, data, flag)
    if problem is not None:
        raise GraphBreak(NATIVE_CALL, f"a parameter is created{problem}")
    return make_leaf(tx, data, torch.nn.Parameter, flag)


@ROWS.call(torch.nn.UninitializedParameter)
def make_uninitialized(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """Break the graph: fakes know no tensor without a shape."""
    raise GraphBreak(NATIVE_CALL, "a parameter without a shape is created")
