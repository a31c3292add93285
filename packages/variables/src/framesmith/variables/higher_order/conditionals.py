"""`torch.cond`: both branches are traced into nested graphs, of which the running graph chooses one.

A branch that does more than compute tensors (a side effect, a change of an operand, another structure than the
other branch) breaks the graph, so that torch itself raises its error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import torch
from torch import fx

from framesmith.graph import BreakKind, GraphBreak, example, register, unify
from framesmith.graph.breaks.break_kinds import CALL_SIGNATURE
from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.nodes.subgraph import Use
from framesmith.guards.words import with_article
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.core import Constant, PendingCall, TraceContext, Tracker
from framesmith.variables.core.base import run_pending
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import call_node, wrap_result
from framesmith.variables.higher_order.bodies import TracedBody, record_body
from framesmith.variables.higher_order.flat_bodies import FLAT_RESULTS, fill_structure, is_same_structure
from framesmith.variables.operations.truth import known_truth
from framesmith.variables.symbolic_numbers.computed_numbers import ComputedNumber
from framesmith.variables.symbolic_numbers.symbolic import SymbolicNumber
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()
_NUMBERS: Final = (bool, int, float)
_BRANCH: Final = Use(is_traced_again=True)

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
        branches = [_trace_branch(tx, function, given) for function in (true_fn, false_fn)]
        return _record(tx, pred, branches)
    except GraphBreak:
        tx.graph.rollback(marker)
        raise


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Branch:
    """A traced branch: its body, the leaves of its result, tensors and ints, and their structure."""

    body: TracedBody
    leaves: tuple[TensorTracker | Constant, ...]
    structure: Tracker

    def outputs(self, tx: TraceContext) -> list[fx.Node | int | None]:
        """What the nested graph gives."""
        return [
            leaf.graph_node(tx) if isinstance(leaf, TensorTracker) else _int(leaf) for leaf in self.leaves
        ]


def _trace_branch(tx: TraceContext, function: Tracker, given: Sequence[Tracker]) -> _Branch:
    """A branch as a body whose result is flat."""
    with record_body(tx, [function, *given], BRANCH_KIND, _BRANCH) as recording:
        result = run_pending(tx, FLAT_RESULTS.begin_call(tx, [function, *given], {}))
        found, structure = unpack(tx, result)
        leaves = tuple(map(_require_leaf, unpack(tx, found)))
        tensors = tuple(leaf for leaf in leaves if isinstance(leaf, TensorTracker))
        for tensor in tensors:
            # A tensor from outside is lifted into the nested graph.
            recording.body.local(tensor.graph_node(tx))
    return _Branch(TracedBody(recording, result, tensors, BRANCH_KIND), leaves, structure)


def _require_leaf(value: Tracker) -> TensorTracker | Constant:
    value = value.realize()
    if isinstance(value, TensorTracker) or (isinstance(value, Constant) and type(value.value) is int):
        return value
    raise GraphBreak(BRANCH_KIND, f"it gives {with_article(value.describe())}")


def _int(leaf: Constant) -> int:
    assert isinstance(leaf.value, int)
    return leaf.value


def _record(tx: TraceContext, pred: TensorTracker, branches: Sequence[_Branch]) -> Tracker:
    # Sizes and dtypes are compared by torch's operator.
    if not is_same_structure(tx, [branch.structure for branch in branches]):
        raise GraphBreak(BRANCH_KIND, "the branches give different structures")
    kinds = [[isinstance(leaf, Constant) for leaf in branch.leaves] for branch in branches]
    if kinds[0] != kinds[1]:
        raise GraphBreak(BRANCH_KIND, "one branch gives an int where the other one gives a tensor")
    lifted = unify([branch.body.recording for branch in branches])
    for branch in branches:
        branch.body.check_outputs(lifted)
        branch.body.check_changes()
    _check_memory(branches, [one for one in map(example, lifted) if isinstance(one, torch.Tensor)])
    graphs = [
        branch.body.recording.finish(branch.outputs(tx), name=name)
        for branch, name in zip(branches, ("true_branch", "false_branch"), strict=True)
    ]
    node = call_node(
        tx,
        torch.ops.higher_order.cond,
        (pred.graph_node(tx), graphs[0].node, graphs[1].node, tuple(lifted)),
    )
    return fill_structure(tx, branches[0].structure, unpack(tx, wrap_result(tx, node)))


def _check_memory(branches: Sequence[_Branch], operands: Sequence[torch.Tensor]) -> None:
    """Break the graph where torch's operator finds two tensors in one memory."""
    given = [storage_of(one) for one in operands]
    if len(set(given)) != len(given):
        raise GraphBreak(BRANCH_KIND, "two tensors that the branches use share memory")
    for branch in branches:
        found = [storage_of(output.fake) for output in branch.body.outputs]
        if len(set(found)) != len(found) or not set(found).isdisjoint(given):
            raise GraphBreak(BRANCH_KIND, "it returns two tensors in one memory, or memory of an operand")
