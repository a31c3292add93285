"""Assertions in the graph, and the rows of `torch._check` and its kin.

They say that a tensor of one element is true or false, or that a number which only the running program knows is as the
program says.
When one fails, the program goes on natively in front of it (ADR 0015), so it raises what eager raises.
"""

from typing import Final

import torch
from torch.fx.experimental.symbolic_shapes import _advise_is_size, expect_true

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.graph.options import is_fixed
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import evaluate, record, record_node
from framesmith.variables.operations.compare import compare
from framesmith.variables.symbolic_numbers.computed_numbers import ComputedNumber
from framesmith.variables.symbolic_numbers.symbolic import SymbolicNumber, compute
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()

_MESSAGE: Final = "the program does not go on here"


def assert_truth(tx: TraceContext, value: Tracker, expected: bool) -> bool:
    """Record the assertion that the truth of a value is the expected one; False where the graph cannot hold it."""
    if isinstance(value, TensorTracker):
        return _assert_tensor(tx, value, expected)
    if not isinstance(value, SymbolicNumber):
        return False
    # torch asserts symbolic bools only, so the truth of a number is its comparison with 0.
    is_true = value if value.python_type is bool else compare(tx, "!=", value, Constant(0))
    condition = is_true if expected else compute(tx, torch.sym_not, is_true)
    return isinstance(condition, SymbolicNumber) and _assert_number(tx, condition)


def _assert_tensor(tx: TraceContext, tensor: TensorTracker, expected: bool) -> bool:
    """A tensor of one element. Not on other devices, where an assertion is asynchronous and ends the process."""
    count = tensor.fake.numel()
    if tensor.fake.device.type != "cpu" or not is_fixed(count) or count != 1:
        return False
    condition = tensor if expected else record(tx, torch.logical_not, (tensor,))
    record_node(tx, torch._assert_async, (condition, Constant(_MESSAGE)))
    return True


def _assert_number(tx: TraceContext, condition: SymbolicNumber) -> bool:
    """A condition over numbers. One that the trace can decide is decided, with a guard."""
    # torch knows its value in this call: a node would only repeat the guard.
    if condition.number is not None:
        return bool(evaluate("torch._check", expect_true, condition.value))
    record_node(tx, torch._check, (condition,))
    return True


@ROWS.call(
    torch._check, torch._check_value, torch._check_type, torch._check_index, torch._check_not_implemented
)
def check(tx: TraceContext, cond: Tracker, message: Tracker | None = None) -> Tracker:
    """Continue if the condition holds; one that is known in the running graph only is asserted there. Breaks the graph
    where it fails or is no known bool."""
    if isinstance(cond, SymbolicNumber) and _assert_number(tx, cond):
        return Constant(None)
    # Its truth is a decision of the trace, so the guard on it is the assertion.
    if isinstance(cond, ComputedNumber) and cond.python_type is bool and cond.truth(tx):
        return Constant(None)
    if isinstance(cond, Constant) and cond.value is True:
        return Constant(None)
    raise GraphBreak(NATIVE_CALL, "torch._check() of what does not hold")


@ROWS.call(torch._assert_async)
def assert_async(
    tx: TraceContext, input: Tracker, assert_msg: Tracker | None = None
) -> Tracker:  # its name in torch
    """With a text of its own where the program gives none: AOTAutograd drops the operation that has none."""
    record_node(tx, torch._assert_async, (input, Constant(_MESSAGE) if assert_msg is None else assert_msg))
    return Constant(None)


@ROWS.call(_advise_is_size)
def advise_is_size(tx: TraceContext, size: Tracker) -> Tracker:
    """The last line of `torch._check_is_size`, which has checked the number: it tells torch's symbolic shapes, eager does nothing."""
    return Constant(None)
