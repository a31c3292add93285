"""The body of a higher-order operator: a Python function traced into a nested graph, from tensors to tensors.

Shared by `torch.cond`, checkpointing and hooks. A body that does more than compute (a side effect, a change of a
tensor, an operand as result) breaks the graph with the kind of break of the operator.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, final

import torch
from torch import fx

from framesmith.graph import BreakKind, GraphBreak, NestedRecording, example
from framesmith.graph.nodes.subgraph import BODY, Use
from framesmith.graph.operations.data_errors import fails_on_data
from framesmith.graph.operations.purity import IMPURE
from framesmith.variables.callables.functions import FunctionTracker
from framesmith.variables.core import Arguments, Constant, Keywords, TraceContext, Tracker
from framesmith.variables.core.base import run_pending
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.reach import reachable
from framesmith.variables.higher_order.transform_trees import leaves_of, walk, with_leaves
from framesmith.variables.subclasses.mode_stack import entered_modes, is_mode_block
from framesmith.variables.symbolic_numbers.symbolic import SymbolicNumber
from framesmith.variables.tensors.tensors import TensorTracker

_CONTAINERS: Final = (list, dict, set)


def call_to_end(
    tx: TraceContext, function: FunctionTracker, args: Arguments, kwargs: Keywords, kind: BreakKind
) -> Tracker:
    """Trace a function around an operator, torch's own or a polyfill, to its end; where that breaks the graph, or raises, torch's
    function runs natively as a whole."""
    marker = tx.graph.marker()
    try:
        return run_pending(tx, function.bind(tx, args, kwargs))
    except ObservedException:
        tx.graph.rollback(marker)
        # Natively it raises in the program's frames, and some of its errors are others.
        raise GraphBreak(kind, "it raises an exception") from None
    except GraphBreak:
        tx.graph.rollback(marker)
        raise


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
) -> TracedBody:
    """Trace a function into a nested graph; its result may hold constants besides tensors. Breaks the graph for side effects and
    exceptions."""
    with record_body(tx, [function, *args, *kwargs.values()], kind) as recording:
        result = run_pending(tx, function.begin_call(tx, list(args), kwargs)).realize()
        leaves = leaves_of(tx, result, kind)
        outputs = tuple({id(leaf): leaf for leaf in leaves if isinstance(leaf, TensorTracker)}.values())
        for output in outputs:
            # A tensor from outside is lifted into the nested graph.
            recording.body.local(output.graph_node(tx))
    return TracedBody(recording, result, outputs, kind)


@final
class _Changes(list[Tracker]):
    """What changes in a body. `outside`: what was there before, by `id`; a change of an object created inside is no side effect.

    It is looked for before the first change, so that many bodies that change nothing do not each walk over what was changed before.
    """

    def __init__(self, tx: TraceContext, given: Iterable[Tracker]) -> None:
        super().__init__()
        self._tx = tx
        self._given = tuple(given)
        self.outside: Mapping[int, Tracker] = {}

    def append(self, tracker: Tracker) -> None:
        """Note what is about to change."""
        if not self:
            self.outside = reachable([*self._given, *self._tx.changes.changed_trackers()])
        super().append(tracker)


@contextmanager
def record_body(
    tx: TraceContext,
    given: Iterable[Tracker],
    kind: BreakKind,
    use: Use = BODY,
    *,
    restores: bool = False,
    runs_once: bool = False,
) -> Iterator[NestedRecording]:
    """Record what is traced inside into a nested graph. Breaks the graph for side effects and exceptions; `given` is all that a
    body is given. With `restores`, what is turned and turned back, as by `torch.no_grad`, is none; for a function that eager
    `runs_once`, neither is what it puts into a container, unless that is a value of the nested graph."""
    # Without it a switch that is turned and turned back counts as well: both are nodes that would run at another time.
    switches, settings = tx.changes.ambient.version, tx.changes.ambient.present()
    modes = entered_modes(tx)
    noted = _Changes(tx, given)
    with tx.graph.subgraph(use) as recording, tx.changes.watch_changes(noted):
        try:
            yield recording
        except ObservedException:
            raise GraphBreak(kind, "it raises an exception") from None
    if tx.changes.ambient.has_changed(settings) if restores else tx.changes.ambient.version != switches:
        raise GraphBreak(kind, "it changes a setting of torch")
    # While a mode is asked about an operation, it is left, and entered again.
    same_modes = restores and entered_modes(tx) == modes
    effects = [
        one
        for one in noted
        if (one.source is not None or id(one) in noted.outside)
        and not (restores and one.is_restored())
        and not (same_modes and is_mode_block(one))
    ]
    # Where an operation fails on the data, eager has only done what stands before it.
    is_sure = runs_once and not any(
        fails_on_data(node.op, node.target)
        for node in recording.body.order
        if node.op in ("call_function", "call_method")
    )
    if effects and not (is_sure and all(_outlives(one, recording) for one in effects)):
        raise GraphBreak(kind, "it has side effects")


def _outlives(changed: Tracker, recording: NestedRecording) -> bool:
    """Whether it is a container that holds nothing which only the nested graph knows."""
    if changed.python_type not in _CONTAINERS:
        return False
    around, body = set[fx.Graph](), recording.body.parent
    while body is not None:
        around.add(body.graph)
        body = body.parent
    return all(_is_known(one, around) for one in reachable([changed]).values())


def _is_known(value: Tracker, around: Collection[fx.Graph]) -> bool:
    if isinstance(value, SymbolicNumber):
        return value.number is not None
    node = getattr(value, "node", None)
    return not isinstance(node, fx.Node) or node.graph in around


def count_versions(tx: TraceContext, more: Iterable[torch.Tensor], kind: BreakKind) -> dict[int, int]:
    """The version counter of each tensor that a body can reach, `more` among them: it grows with each change in place."""
    # All tensors of the graph: a body may write to one that is no argument.
    seen = [*tx.graph.tensors(), *more]
    if any(tensor.is_inference() for tensor in seen):
        raise GraphBreak(
            kind, "there are tensors that were made in inference mode, whose changes are not counted"
        )
    return {id(tensor): tensor._version for tensor in seen}


def body_input(tx: TraceContext, recording: NestedRecording, fake: torch.Tensor, index: int) -> TensorTracker:
    """An input of the body itself."""
    tracker = TensorTracker(recording.input(f"operand_{index}", fake), fake)
    tx.changes.results[id(fake)] = tracker
    return tracker


def check_containers(tx: TraceContext, body: TracedBody) -> None:
    """Break the graph for a result with a container that was there before, or stands in it twice: eager gives that object."""
    containers = [one for one in walk(tx, body.result) if not isinstance(one, TensorTracker | Constant)]
    if any(one.source is not None for one in containers) or len({*map(id, containers)}) < len(containers):
        raise GraphBreak(body.kind, "it gives a container that is there already, or one twice")


def rebuild(tx: TraceContext, body: TracedBody, values: Iterable[Tracker]) -> Tracker:
    """The structure of a body's result, with the values that the operator returns for its outputs."""
    found = {id(output): value for output, value in zip(body.outputs, values, strict=True)}
    return with_leaves(tx, body.result, lambda leaf: found.get(id(leaf), leaf))
