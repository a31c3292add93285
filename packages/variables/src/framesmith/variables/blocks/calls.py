"""Calls of modules in one trace: each is noted, and one that is like an earlier one repeats what that recorded.

    for layer in self.layers: x = layer(x)

The first call is traced. The second has arguments alike (`operands`), in a state of the trace that is alike (`moments`), and
a module of which everything that guards say of the first is true (`instances`). So its frames are not executed: the
operations are recorded again on its tensors.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias, final

from torch import fx

from framesmith.graph import GraphBreak
from framesmith.graph.errors import FakeFailure
from framesmith.guards.source_index import SourceIndex
from framesmith.variables.blocks.instances import Instance, adopt, find_instance
from framesmith.variables.blocks.moments import FramesState, Moment, moment_of
from framesmith.variables.blocks.operands import are_alike, known, tensors_in
from framesmith.variables.blocks.recordings import Plan, Recording, make_plan, may_repeat_now
from framesmith.variables.blocks.results import fill, returned_nodes
from framesmith.variables.core import PendingCall, PendingFrame, TraceContext, Tracker
from framesmith.variables.core.base import Arguments, Keywords
from framesmith.variables.objects.instances import InstanceTracker
from framesmith.variables.wrapping.wrap import Wrapper

Begin: TypeAlias = Callable[[], Tracker | PendingCall | None]
_CANDIDATES: Final = 8
"""How many earlier calls of modules of one class are tried."""


@final
class BlockCalls:
    """The calls of modules in one trace, by class."""

    def __init__(self, wrapper: Wrapper, frames: FramesState) -> None:
        self._wrapper = wrapper
        self._frames = frames
        self._index = SourceIndex()
        self._recordings: dict[type, list[Recording]] = {}
        self._plans: dict[Recording, Plan | None] = {}
        self.repeated = 0

    def release(self) -> None:
        """The trace has ended: hold none of its values (ADR 0014)."""
        self._recordings.clear()
        self._plans.clear()

    def __call__(
        self, tx: TraceContext, module: Tracker, args: Arguments, kwargs: Keywords, begin: Begin
    ) -> Tracker | PendingCall | None:
        """The call of a module: repeated, or begun by `begin` and noted."""
        if not isinstance(module, InstanceTracker) or module.source is None or module.value is None:
            return begin()
        moment = moment_of(tx, self._frames)
        if moment is None:
            return begin()
        arguments = (*args, *kwargs.values())
        for recording in self._recordings.get(module.kind, ()):
            result = self._repeat(tx, recording, moment, module, arguments, tuple(kwargs))
            if result is not None:
                return result
        recording = Recording(module.source, arguments, tuple(kwargs), moment, _stack(tx))
        begun = begin()
        if isinstance(begun, PendingFrame):
            return replace(begun, on_return=lambda value: self._note_end(tx, module.kind, recording, value))
        return begun

    def _note_end(self, tx: TraceContext, kind: type, recording: Recording, result: Tracker) -> None:
        """A call returns: from now on it may be repeated."""
        recording.end, recording.result = moment_of(tx, self._frames), result
        if recording.end is not None:
            recordings = self._recordings.setdefault(kind, [])
            recordings.insert(0, recording)
            del recordings[_CANDIDATES:]

    def _repeat(
        self,
        tx: TraceContext,
        recording: Recording,
        moment: Moment,
        module: InstanceTracker,
        arguments: tuple[Tracker, ...],
        names: tuple[str, ...],
    ) -> Tracker | None:
        """The result of the call, recorded as an earlier one was; None if it is not alike."""
        pairs = _pairs(recording, arguments, names)
        if pairs is None or not recording.begin.allows_repeat(tx, moment):
            return None
        plan = self._plan(tx, recording)
        if plan is None or not may_repeat_now(tx, plan):
            return None
        if any(pairs[place][0] is not pairs[place][1] for place in plan.fixed):
            return None
        nodes = _given_nodes(plan, pairs)
        if nodes is None:
            return None
        assert module.source is not None
        instance = find_instance(tx, self._wrapper, plan, module.value, module.source)
        if instance is None:
            return None
        return self._record(tx, instance, pairs, nodes)

    def _record(
        self,
        tx: TraceContext,
        instance: Instance,
        pairs: list[tuple[Tracker, Tracker]],
        nodes: dict[fx.Node, fx.Node],
    ) -> Tracker | None:
        plan, result = instance.plan, instance.plan.recording.result
        assert result is not None
        nodes.update(adopt(tx, self._wrapper, instance))
        try:
            own = [node for node in returned_nodes(result) if node not in nodes]
            made = tx.graph.repeat(plan.nodes, nodes, own, (plan.recording.stack, _stack(tx)))
        except (GraphBreak, FakeFailure):
            return None  # tracing it says why
        self.repeated += 1
        return fill(tx, result, pairs, made)

    def _plan(self, tx: TraceContext, recording: Recording) -> Plan | None:
        """The plan of a call, made when it is asked for first."""
        if recording not in self._plans:
            self._plans[recording] = make_plan(tx, self._wrapper, self._index, recording)
        return self._plans[recording]


def _stack(tx: TraceContext) -> str:
    """The user's frames now, as text."""
    return "" if tx.graph.user_stack is None else tx.graph.user_stack()


def _pairs(
    recording: Recording, arguments: tuple[Tracker, ...], names: tuple[str, ...]
) -> list[tuple[Tracker, Tracker]] | None:
    """The arguments of an earlier call and the present ones, if they are alike."""
    if recording.names != names or len(recording.arguments) != len(arguments):
        return None
    pairs = [
        (known(first), known(present)) for first, present in zip(recording.arguments, arguments, strict=True)
    ]
    return pairs if all(are_alike(first, present) for first, present in pairs) else None


def _given_nodes(plan: Plan, pairs: list[tuple[Tracker, Tracker]]) -> dict[fx.Node, fx.Node] | None:
    """The nodes of the tensors given, by those given before; None unless equal ones and different ones correspond, the
    other values that the call uses included."""
    nodes: dict[fx.Node, fx.Node] = {node: node for node in plan.others}
    firsts = tensors_in([first for first, _ in pairs])
    for first, present in zip(firsts, tensors_in([present for _, present in pairs]), strict=True):
        if nodes.setdefault(first.node, present.node) is not present.node:
            return None
    return nodes if len(set(nodes.values())) == len(nodes) else None
