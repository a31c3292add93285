"""The body of a higher-order operator: a Python function traced into a nested graph, from tensors to tensors.

Shared by `torch.cond` and checkpointing. A body that does more than compute (a side effect, a change of a
tensor, an operand as result) breaks the graph with the kind of break of the operator.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from torch import fx

from framesmith.graph import BreakKind, GraphBreak, NestedRecording, example
from framesmith.graph.purity import IMPURE
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.base import run_pending
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.reach import reachable
from framesmith.variables.tensors.tensors import TensorTracker


@final
@dataclass(frozen=True, slots=True)
class TracedBody:
    """A traced body: its recording, its result, the tensors in it, and the kind of its graph breaks."""

    recording: NestedRecording
    result: Tracker
    outputs: tuple[TensorTracker, ...]
    kind: BreakKind

    def check_outputs(self, operands: Sequence[fx.Node]) -> None:
        """Break the graph for a body that returns an operand."""
        # Compared by fake: an operation in place gives the operand back.
        given = [example(node) for node in operands]
        if any(output.fake is operand for output in self.outputs for operand in given):
            raise GraphBreak(self.kind, "it returns an operand")

    def check_changes(self) -> None:
        """Break the graph for a body that changes a tensor."""
        inside = (node for node in self.recording.body.order if node.op != "placeholder")
        if any(node.meta.get(IMPURE) for node in inside):
            raise GraphBreak(self.kind, "it changes a tensor")

    def output_nodes(self, tx: TraceContext) -> list[fx.Node]:
        """The nodes of the tensors in the result."""
        return [output.graph_node(tx) for output in self.outputs]


def trace_body(
    tx: TraceContext,
    function: Tracker,
    args: Sequence[Tracker],
    kwargs: Mapping[str, Tracker],
    kind: BreakKind,
    *,
    constants: bool = False,
) -> TracedBody:
    """Trace a function into a nested graph; `constants` allows constants besides tensors in its result. Breaks the
    graph for side effects and exceptions."""
    # A switch that is turned and turned back counts as well: both are nodes that would run at another time.
    switches = tx.changes.ambient.version
    # a change of one of these is a side effect; a change of an object created inside is none
    outside = reachable([function, *args, *kwargs.values(), *tx.changes.changed_trackers()])
    with tx.graph.subgraph() as recording, tx.changes.watch_changes() as noted:
        try:
            result = run_pending(tx, function.begin_call(tx, list(args), kwargs)).realize()
        except ObservedException:
            raise GraphBreak(kind, "it raises an exception") from None
        outputs = tuple(_tensors(result, kind, constants))
        for output in outputs:
            # Within the nested graph, so that a tensor from outside is lifted into it.
            output.graph_node(tx)
    if tx.changes.ambient.version != switches or any(
        one.source is not None or id(one) in outside for one in noted
    ):
        raise GraphBreak(kind, "it has side effects")
    return TracedBody(recording, result, outputs, kind)


def _tensors(result: Tracker, kind: BreakKind, constants: bool) -> list[TensorTracker]:
    if isinstance(result, TensorTracker):
        return [result]
    # Named tuples and other classes would come back as plain ones.
    if isinstance(result, TupleTracker | ListTracker) and result.python_type in (tuple, list):
        return [tensor for item in result.items for tensor in _tensors(item.realize(), kind, constants)]
    if constants and isinstance(result, Constant):
        return []
    raise GraphBreak(kind, f"it gives a {result.describe()}")


def describe_structure(result: Tracker) -> object:
    """The nested structure of a result, without its tensors, to compare two results."""
    if isinstance(result, TupleTracker | ListTracker):
        return (result.python_type, *[describe_structure(item.realize()) for item in result.items])
    return None


def rebuild(result: Tracker, values: Iterator[Tracker]) -> Tracker:
    """The structure of a body's result, filled with the values that the operator returns."""
    if isinstance(result, TensorTracker):
        return next(values)
    if isinstance(result, Constant):
        return result
    assert isinstance(result, TupleTracker | ListTracker)
    items = [rebuild(item.realize(), values) for item in result.items]
    return TupleTracker(items) if isinstance(result, TupleTracker) else ListTracker(items)
