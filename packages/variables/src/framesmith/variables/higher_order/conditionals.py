"""`torch.cond`: both branches are traced into nested graphs, of which the running graph chooses one.

A branch that does more than compute tensors (a side effect, a change of an operand, another structure than the
other branch) breaks the graph, so that torch itself raises its error.
"""

from collections.abc import Sequence
from typing import Final

import torch

from framesmith.graph import BreakKind, GraphBreak, register, unify
from framesmith.graph.breaks.break_kinds import CALL_SIGNATURE
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, PendingCall, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import call_node, wrap_result
from framesmith.variables.higher_order.bodies import TracedBody, describe_structure, rebuild, trace_body
from framesmith.variables.operations.truth import known_truth
from framesmith.variables.symbolic_numbers.computed_numbers import ComputedNumber
from framesmith.variables.symbolic_numbers.symbolic import SymbolicNumber
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()
_NUMBERS: Final = (bool, int, float)

BRANCH_KIND = register(
    BreakKind(
        "unsupported-branch-of-cond",
        "a branch of torch.cond that is more than a computation on tensors",
        "Both branches are captured, and only one of them runs: a branch may neither have side effects nor change or "
        "return an operand, and both have to give tensors of the same kind in the same structure.",
        "Compute new tensors in both branches, and do everything else outside of them.",
    )
)


@ROWS.call(torch.cond)
def cond(
    tx: TraceContext, pred: Tracker, true_fn: Tracker, false_fn: Tracker, operands: Tracker | None = None
) -> Tracker | PendingCall:
    """`torch.cond(pred, true_fn, false_fn, operands)` for a bool tensor `pred` of one element, or a number of Python, for which
    the branch is called like any function; any other breaks the graph."""
    pred = pred.realize()
    if isinstance(pred, Constant | SymbolicNumber | ComputedNumber) and pred.python_type in _NUMBERS:
        chosen = true_fn if known_truth(tx, pred) else false_fn
        return chosen.begin_call(tx, [] if operands is None else unpack(tx, operands), {})
    if not isinstance(pred, TensorTracker) or pred.fake.dtype is not torch.bool or pred.fake.numel() != 1:
        raise GraphBreak(CALL_SIGNATURE, f"torch.cond with the condition {pred.describe()}")
    given = [] if operands is None else unpack(tx, operands)
    marker = tx.graph.marker()
    try:
        # Both are traced before either is finished, since they have to have the same operands.
        bodies = [trace_body(tx, function, given, {}, BRANCH_KIND) for function in (true_fn, false_fn)]
        return _record(tx, pred, bodies)
    except GraphBreak:
        tx.graph.rollback(marker)
        raise


def _record(tx: TraceContext, pred: TensorTracker, branches: Sequence[TracedBody]) -> Tracker:
    first, second = branches
    # Sizes and dtypes are compared by torch's operator.
    if describe_structure(first.result) != describe_structure(second.result):
        raise GraphBreak(BRANCH_KIND, "the branches give different structures")
    lifted = unify([branch.recording for branch in branches])
    for branch in branches:
        branch.check_outputs(lifted)
        branch.check_changes()
    graphs = [
        branch.recording.finish(branch.output_nodes(tx), name=name)
        for branch, name in zip(branches, ("true_branch", "false_branch"), strict=True)
    ]
    node = call_node(
        tx,
        torch.ops.higher_order.cond,
        (pred.graph_node(tx), graphs[0].node, graphs[1].node, tuple(lifted)),
    )
    results = wrap_result(tx, node)
    assert isinstance(results, TupleTracker)
    return rebuild(first.result, iter(results.items))
