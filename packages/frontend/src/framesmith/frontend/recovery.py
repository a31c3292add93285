"""What becomes of a call whose graph raised: the part before the operation that raised, and that operation natively.

    log.append(1)
    y = torch.linalg.inv(x)      the graph raises here, or the captured operation does
    log.append(2)

An entry calls its graph first and replays what Python changed afterwards. When the graph raises, the trace is made once more
up to that operation, which gives an entry that ends like any graph break: changes before the operation are replayed,
the operation runs natively and raises as it does eagerly, into the user's own handlers. Tensors come from the run that failed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import final

from torch import fx

from framesmith.frontend.generated.dispatcher import Entry
from framesmith.frontend.options import TracePolicy
from framesmith.frontend.tracing.frame_layout import live_names
from framesmith.frontend.tracing.machine import Machine
from framesmith.graph import GraphBreak
from framesmith.graph.break_kinds import FAILURE_INSIDE
from framesmith.graph.data_errors import may_raise
from framesmith.graph.failures import STEP, Failures, Replay, changes
from framesmith.guards import Source
from framesmith.variables.core import Tracker
from framesmith.variables.core.reach import reachable
from framesmith.variables.torch_values.graph_values import GraphValue


@final
@dataclass(frozen=True, slots=True, eq=False)
class Prefix:
    """An entry that ends before the operation of a step. It may begin earlier to run natively: `step` says where."""

    entry: Entry
    step: int
    replay: Replay


@final
@dataclass(frozen=True, slots=True, eq=False)
class Recovery:
    """What an entry keeps for this. `policy` is the one it was traced with: a second trace has to go the same way."""

    failures: Failures
    policy: TracePolicy
    inputs: tuple[Source, ...]
    prefixes: dict[int, Prefix | None] = field(default_factory=dict)


@final
class Observed:
    """The values that the program can see where an operation that fails on data stands: what Python changed before, what
    a handler may read, and what the frames hold. They must not be freed before the graph has run."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._version = 0
        self._is_looking = False
        self._nodes: dict[fx.Node, None] = {}

    def before(self) -> None:
        """Such an operation is recorded. It may be one that is written for a number which is looked at here."""
        if self._is_looking:
            return
        self._is_looking = True
        try:
            self._look()
        finally:
            self._is_looking = False

    def after(self, node: fx.Node) -> None:
        """No trace can end inside of a nested run: the step that asked for the run is done natively instead, and that must
        not repeat anything that can be seen."""
        if not self._machine.ends.nested or not may_raise(node):
            return
        step = node.meta[STEP][0]
        nodes = takewhile(lambda one: one.meta.get(STEP, (step, 0))[0] == step, reversed(node.graph.nodes))
        if any(changes(one) for one in nodes if one.op != "placeholder"):
            raise GraphBreak(FAILURE_INSIDE, str(node.target))

    def _look(self) -> None:
        machine = self._machine
        roots = list[Tracker]()
        if machine.tx.mutations.version != self._version:
            self._version = machine.tx.mutations.version
            roots += machine.tx.mutations.changed()
        for frame in machine.frames:
            # What the frame goes on with is handed over with it, if only its shape: it cannot be computed anew behind a change.
            live = live_names(frame, frame.current)
            held = [
                *frame.cells.values(),
                *frame.stack,
                *(frame.locals[name] for name in frame.locals if name in live),
            ]
            roots += [value for value in held if value.source is None]
            handler = frame.reading.handlers[frame.current]
            if handler is not None:
                live = live_names(frame, handler.target)
                roots += [value for name, value in frame.locals.items() if name in live]
                roots += frame.stack[: handler.depth]
        for value in reachable(roots).values() if roots else ():
            node = value.output_node() if isinstance(value, GraphValue) else None
            if isinstance(node, fx.Node):
                self._nodes[node] = None

    def kept(self, outputs: Sequence[fx.Node]) -> list[fx.Node]:
        """Those that would be freed."""
        graph = self._machine.tx.graph.graph
        return [
            node
            for node in self._nodes
            if node.graph is graph and not node._erased and node.op != "placeholder" and node not in outputs
        ]
