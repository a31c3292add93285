"""`torch.cond`: both branches are traced into graphs of their own, and the graph chooses when it runs.

A branch that does more than compute tensors (a side effect, a change of an operand, another structure than the
other branch) breaks the graph, so that torch itself says what is wrong with it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import torch

from framesmith.graph import BreakKind, GraphBreak, NestedRecording, example, register, unify
from framesmith.graph.break_kinds import CALL_SIGNATURE
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.functions import complete
from framesmith.variables.core import CALLABLES, Constant, PendingCall, TraceContext, Tracker
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.torch_values.results import call_node, wrap_result
from framesmith.variables.torch_values.symbolic import SymbolicNumber
from framesmith.variables.torch_values.tensors import TensorTracker

BRANCH_KIND = register(
    BreakKind(
        "unsupported-branch-of-cond",
        "a branch of torch.cond that is more than a computation on tensors",
        "Both branches are captured, and only one of them runs: a branch may neither have side effects nor change or "
        "return an operand, and both have to give tensors of the same kind in the same structure.",
        "Compute new tensors in both branches, and do everything else outside of them.",
    )
)


@final
@dataclass(frozen=True, slots=True)
class Branch:
    """A traced branch: its recording, its result, and the tensors in it."""

    body: NestedRecording
    result: Tracker
    outputs: tuple[TensorTracker, ...]


@CALLABLES.row(torch.cond)
def cond(
    tx: TraceContext, pred: Tracker, true_fn: Tracker, false_fn: Tracker, operands: Tracker | None = None
) -> Tracker | PendingCall:
    """`torch.cond(pred, true_fn, false_fn, operands)` for a tensor `pred`."""
    if isinstance(pred, Constant | SymbolicNumber):
        raise GraphBreak(CALL_SIGNATURE, "torch.cond with a condition that is no tensor: torch warns")
    if not isinstance(pred, TensorTracker) or pred.fake.dtype is not torch.bool or pred.fake.numel() != 1:
        raise GraphBreak(CALL_SIGNATURE, f"torch.cond with the condition {pred.describe()}")
    given = [] if operands is None else unpack(tx, operands)
    marker = tx.graph.marker()
    try:
        return _record(tx, pred, [_trace(tx, function, given) for function in (true_fn, false_fn)])
    except GraphBreak:
        tx.graph.rollback(marker)
        raise


def _trace(tx: TraceContext, function: Tracker, operands: Sequence[Tracker]) -> Branch:
    """Run one branch into a nested graph."""
    before = (tx.mutations.version, tx.ambient.version)
    with tx.graph.subgraph() as body:
        try:
            result = complete(tx, function.begin_call(tx, list(operands), {})).realize()
        except ObservedException:
            raise GraphBreak(BRANCH_KIND, "the branch raises an exception") from None
        outputs = tuple(_tensors(result))
        for output in outputs:
            output.graph_node(tx)
    if (tx.mutations.version, tx.ambient.version) != before:
        raise GraphBreak(BRANCH_KIND, "the branch has side effects")
    return Branch(body, result, outputs)


def _tensors(result: Tracker) -> list[TensorTracker]:
    if isinstance(result, TensorTracker):
        return [result]
    if isinstance(result, TupleTracker | ListTracker) and result.python_type in (tuple, list):
        return [tensor for item in result.items for tensor in _tensors(item.realize())]
    raise GraphBreak(BRANCH_KIND, f"the branch gives a {result.describe()}")


def _structure(result: Tracker) -> object:
    if isinstance(result, TupleTracker | ListTracker):
        return (result.python_type, *[_structure(item.realize()) for item in result.items])
    return None


def _record(tx: TraceContext, pred: TensorTracker, branches: Sequence[Branch]) -> Tracker:
    first, second = branches
    if _structure(first.result) != _structure(second.result):
        raise GraphBreak(BRANCH_KIND, "the branches give different structures")
    lifted = unify([branch.body for branch in branches])
    operands = [example(node) for node in lifted]
    for branch in branches:
        if any(output.fake is operand for output in branch.outputs for operand in operands):
            raise GraphBreak(BRANCH_KIND, "a branch returns an operand")
        if any(
            node.meta.get("framesmith_impure") for node in branch.body.body.order if node.op != "placeholder"
        ):
            raise GraphBreak(BRANCH_KIND, "a branch changes a tensor")
    graphs = [
        branch.body.finish([output.graph_node(tx) for output in branch.outputs], name=name)
        for branch, name in zip(branches, ("true_branch", "false_branch"), strict=True)
    ]
    node = call_node(
        tx,
        torch.ops.higher_order.cond,
        (pred.graph_node(tx), graphs[0].node, graphs[1].node, tuple(lifted)),
    )
    results = wrap_result(tx, node)
    assert isinstance(results, TupleTracker)
    return _rebuild(first.result, iter(results.items))


def _rebuild(result: Tracker, values: Iterator[Tracker]) -> Tracker:
    """The structure of a branch's result, with the values that the operator gives."""
    if isinstance(result, TensorTracker):
        return next(values)
    assert isinstance(result, TupleTracker | ListTracker)
    items = [_rebuild(item.realize(), values) for item in result.items]
    return TupleTracker(items) if isinstance(result, TupleTracker) else ListTracker(items)
