"""Graph values that must survive if a recorded operation raises, since the program can still see them (ADR 0015).

They are computed in the graph, and freed before its end if nothing else asks for them. When the graph raises, the
program goes on in front of the operation that raised and has to find them, so they become outputs. An operation from
which the program could not go on (in a nested run, behind a collective) breaks the graph instead. Not here: the recovery.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import final

from torch import fx

from framesmith.frontend.tracing.frame_layout import live_names
from framesmith.frontend.tracing.machine import Machine
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT, FAILURE_INSIDE
from framesmith.graph.operations.data_errors import changes_form_of_input, may_raise
from framesmith.graph.operations.purity import is_collective
from framesmith.graph.running.failures import STEP, Replay, changes
from framesmith.guards.words import with_article
from framesmith.variables.builtin_types.iterators import IteratorTracker
from framesmith.variables.core import Tracker
from framesmith.variables.core.reach import IncrementalReachability, reachable
from framesmith.variables.graph_nodes.graph_values import GraphValue


@final
class ObservedValues:
    """The graph values that the program can see at an operation that may fail on data: what Python changed before, what
    a handler may read, and what the frames hold. They must not be freed before the graph has run."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._reach = IncrementalReachability(machine.tx.changes.watch())
        self._is_noting = False
        self._has_collectives = False
        self._has_new_forms = False
        self._nodes: dict[fx.Node, None] = {}

    def before_recording(self) -> None:
        """Such an operation is about to be recorded: note what the program can see.

        Asking for the node of a number may record an operation in turn: that one is ignored.
        """
        if self._is_noting:
            return
        self._is_noting = True
        try:
            self._note_visible()
        finally:
            self._is_noting = False

    def after_recording(self, node: fx.Node) -> None:
        """Raise GraphBreak if a nested run recorded such an operation and its step has done something that can be seen.

        No trace can end inside of a nested run: the step that asked for the run would run natively and repeat that.
        Where a backend replaces the captured operations, those before a failed one run once more to find it, which
        collectives must not: the other processes do not take part. Where it does not, and for what it is not given, an argument has
        another shape by then, and the trace that is made once more would find that one from its beginning.
        """
        self._has_collectives = self._has_collectives or is_collective(node)
        had_new_forms = self._has_new_forms
        self._has_new_forms = had_new_forms or changes_form_of_input(node)
        if not may_raise(node):
            return
        options = self._machine.tx.graph.options
        # the trace that is made once more for another backend ends where that one's graph failed
        if had_new_forms and type(options.backend) is not Replay:
            raise GraphBreak(
                BACKEND_LIMIT, f"{node.target}, which may raise, behind a change of an argument's shape"
            )
        if self._has_collectives and not self._machine.tx.graph.runs_as_captured:
            raise GraphBreak(BACKEND_LIMIT, f"{node.target}, which may raise, behind a collective")
        for launch in self._machine.tx.changes.launches:
            if launch.position is not None:
                raise GraphBreak(BACKEND_LIMIT, f"{node.target}, which may raise, {launch.position}")
        if not self._machine.value_ends.nested:
            return
        step = node.meta[STEP][0]
        # nodes without a step are passed over
        nodes = takewhile(lambda one: one.meta.get(STEP, (step, 0))[0] == step, reversed(node.graph.nodes))
        if any(changes(one) for one in nodes if one.op != "placeholder"):
            raise GraphBreak(FAILURE_INSIDE, str(node.target))

    def _check_iterators(self, held: Sequence[Tracker]) -> None:
        """Raise GraphBreak where a frame holds an iterator that cannot be made again if the operation raises."""
        if not any(map(_is_final, self._reach.untold())):
            return
        for value in reachable(held).values():
            if _is_final(value):
                raise GraphBreak(
                    BACKEND_LIMIT,
                    f"an operation that may raise, beside {with_article(value.describe())} over what has changed",
                )

    def _note_visible(self) -> None:
        machine = self._machine
        held, handled = list[Tracker](), list[Tracker]()
        for frame in machine.frames:
            # Live values are handed over with the frame, if only for their shape: after a change of what they are
            # computed from they cannot be computed again.
            live = live_names(frame, frame.current)
            held += [
                *frame.cells.values(),
                *frame.stack,
                *(frame.locals[name] for name in frame.locals if name in live),
            ]
            handler = frame.reading.handlers[frame.current]
            if handler is not None:
                live = live_names(frame, handler.target)
                handled += [value for name, value in frame.locals.items() if name in live]
                handled += frame.stack[: handler.depth]
        # an existing value is read again from where it is
        held = [value for value in held if value.source is None]
        for value in self._reach.walk([*machine.tx.changes.changed_trackers(), *held, *handled]):
            node = value.output_node() if isinstance(value, GraphValue) else None
            if isinstance(node, fx.Node):
                self._nodes[node] = None
        self._check_iterators(held)

    def find_freed(self, outputs: Sequence[fx.Node]) -> list[fx.Node]:
        """The observed nodes that the graph would free, since they are not among `outputs`."""
        graph = self._machine.tx.graph.graph
        return [
            node
            for node in self._nodes
            # by now a node may be erased, or belong to a nested graph
            if node.graph is graph and not node._erased and node.op != "placeholder" and node not in outputs
        ]


def _is_final(value: Tracker) -> bool:
    """Whether this is an iterator that cannot be made again."""
    return isinstance(value, IteratorTracker) and not value.is_rebuildable
