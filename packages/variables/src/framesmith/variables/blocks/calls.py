"""Calls of modules in one trace: each is noted, and one that is like an earlier one repeats what that recorded.

    for layer in self.layers: x = layer(x)

The first call is traced. The second has arguments alike (`operands`), in a state of the trace that is alike (`moments`), and
a module of which everything that guards say of the first is true (`instances`). So its frames are not executed: the
operations are recorded again on its tensors. A function that the user marked (`nested_compile_region`) has no parts of its
own: its arguments alone decide.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

import torch
from torch import fx

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.errors import FakeFailure
from framesmith.graph.recording.module_stacks import enter
from framesmith.graph.recording.repetition import Stacks
from framesmith.guards import Source
from framesmith.guards.source_index import SourceIndex
from framesmith.variables.blocks.instances import adopt, find_match
from framesmith.variables.blocks.moments import FramesState, Moment, moment_of
from framesmith.variables.blocks.operands import are_alike, known, tensors_in
from framesmith.variables.blocks.recordings import Plan, Recording, Repeated, make_plan, may_repeat_now
from framesmith.variables.blocks.results import fill, returned_nodes
from framesmith.variables.callables.functions import FunctionTracker
from framesmith.variables.core import PendingCall, PendingFrame, TraceContext, Tracker
from framesmith.variables.core.base import Arguments, Keywords
from framesmith.variables.core.lazy import Lazy
from framesmith.variables.objects.instances import InstanceTracker
from framesmith.variables.wrapping.wrap import Wrapper

Begin: TypeAlias = Callable[[], Tracker | PendingCall | None]
_CANDIDATES: Final = 8
"""How many earlier calls of modules of one class are tried."""
_STAGE: Final = 2 / 3
"""The part of the operations of a call that repeated calls inside of it recorded, if that is called a stage here."""
_LAYERS: Final = 5
"""How many such calls there are: a layer whose parts were repeated has fewer."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One call. `key`: calls of another one are not like it, and it is kept as long as they are; `module`: None for a function; `names`: of the last arguments."""

    key: Hashable
    module: InstanceTracker | None
    arguments: tuple[Tracker, ...]
    names: tuple[str, ...]


@final
class BlockCalls:
    """The calls of modules in one trace, by class, and those of marked functions."""

    def __init__(self, wrapper: Wrapper, frames: FramesState) -> None:
        self._wrapper = wrapper
        self._frames = frames
        self._index = SourceIndex()
        self._recordings: dict[Hashable, list[Recording]] = {}
        self._plans: dict[Recording, Plan | None] = {}
        self.noted: list[Recording] = []
        self.repeated = 0
        self._operations = 0  # that were recorded by repetition

    def _repeated(self) -> Repeated:
        return Repeated(self.repeated, self._operations)

    def release(self) -> None:
        """The trace has ended: hold none of its values (ADR 0014)."""
        self._recordings.clear()
        self._plans.clear()
        self.noted.clear()

    def see(self, values: Sequence[Tracker]) -> None:
        """The next operation of the trace has these values at hand."""
        # each operation pushes three values at most
        places = [*map(_place, values[-3:])]
        # those above the innermost module are above the others too, or no concern of theirs
        if not self.noted[-1].above.isdisjoint(places):
            for recording in self.noted:
                if not recording.above.isdisjoint(places):
                    recording.looks_above = True

    def __call__(
        self, tx: TraceContext, module: Tracker, args: Arguments, kwargs: Keywords, begin: Begin
    ) -> Tracker | PendingCall | None:
        """The call of a module: repeated, or begun by `begin` and noted."""
        # a module made in the trace has no source, so no guard speaks of what it is
        if not isinstance(module, InstanceTracker) or module.source is None or module.value is None:
            return begin()
        call = Call(module.cls, module, (*args, *kwargs.values()), tuple(kwargs))
        return self._repeat_or_begin(tx, call, begin)

    def call_region(
        self,
        tx: TraceContext,
        function: Tracker,
        args: Arguments,
        kwargs: Keywords,
        begin: Callable[[], Tracker | PendingCall],
    ) -> Tracker | PendingCall:
        """The call of a function that the user marked as a region: as that of a module, if its first argument is one."""
        function = known(function)
        if not isinstance(function, FunctionTracker):
            return begin()
        module = known(args[0]) if args else None
        if isinstance(module, InstanceTracker) and issubclass(module.cls, torch.nn.Module):
            if module.source is None or module.value is None:
                return begin()
            call = Call((function, module.cls), module, (*args[1:], *kwargs.values()), tuple(kwargs))
        else:
            call = Call(function, None, (*args, *kwargs.values()), tuple(kwargs))
        found = self._repeat_or_begin(tx, call, begin)
        assert found is not None
        return found

    def _repeat_or_begin(self, tx: TraceContext, call: Call, begin: Begin) -> Tracker | PendingCall | None:
        moment = moment_of(tx, self._frames)
        if moment is None:
            return begin()
        for recording in self._recordings.get(call.key, ()):
            result = self._repeat(tx, recording, moment, call)
            if result is not None:
                return result
        source = None if call.module is None else call.module.source
        # before the call begins, which may record operations at once
        stacks = tx.graph.user_stack(), tx.graph.module_stack()
        recording = Recording(source, call.arguments, call.names, moment, *stacks, self._repeated())
        if source is not None:
            recording.above = _above(self._wrapper, source)
        begun = begin()
        # a call that ended at once (by a row) has no frame whose return could be noted
        if isinstance(begun, PendingFrame):
            self.noted.append(recording)
            return replace(begun, on_return=lambda value: self._note_end(tx, call.key, recording, value))
        return begun

    def _note_end(self, tx: TraceContext, key: Hashable, recording: Recording, result: Tracker) -> None:
        """A call returns: from now on it may be repeated."""
        # those behind it were left by an exception
        if recording in self.noted:
            del self.noted[self.noted.index(recording) :]
        recording.end, recording.result = moment_of(tx, self._frames), result
        recording.names_given = tx.graph.variables.given
        recording.repeated = self._repeated() - recording.repeated
        if recording.end is not None:
            recordings = self._recordings.setdefault(key, [])
            # the latest first; the oldest drop out
            recordings.insert(0, recording)
            del recordings[_CANDIDATES:]

    def _repeat(self, tx: TraceContext, recording: Recording, moment: Moment, call: Call) -> Tracker | None:
        """The result of the call, recorded as an earlier one was; None if it is not alike."""
        pairs = _pairs(recording, call)
        # the cheap questions first: most calls of a trace are like none before
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
        if call.module is not None:
            assert call.module.source is not None
            match = find_match(tx, self._wrapper, plan, call.module.value, call.module.source)
            if match is None:
                return None
            nodes.update(adopt(tx, self._wrapper, match))
        return self._record(tx, plan, pairs, nodes, call)

    def _record(
        self,
        tx: TraceContext,
        plan: Plan,
        pairs: list[tuple[Tracker, Tracker]],
        nodes: dict[fx.Node, fx.Node],
        call: Call,
    ) -> Tracker | None:
        result = plan.recording.result
        assert result is not None
        try:
            own = [node for node in returned_nodes(result) if node not in nodes]
            made = tx.graph.repeat(plan.nodes, nodes, own, _stacks(tx, plan.recording, call))
        except (GraphBreak, FakeFailure):
            return None  # tracing it says why
        self.repeated += 1
        self._operations += len(plan.nodes)
        return fill(tx, result, pairs, made)

    def _plan(self, tx: TraceContext, recording: Recording) -> Plan | None:
        """The plan of a call, made when it is asked for first; of a stage of repeated layers, the second time."""
        recording.asked += 1
        # a plan of all these layers costs what repeating each of them does, so it pays for a third stage
        if recording.asked == 1 and _is_stage(tx, recording):
            return None
        # None is an answer too: there is no plan
        if recording not in self._plans:
            self._plans[recording] = make_plan(tx, self._wrapper, self._index, recording)
        return self._plans[recording]


def _above(wrapper: Wrapper, source: Source) -> frozenset[int]:
    """What a source is read through: the places of the trackers and of their objects, which live as long as the trace."""
    trackers = [one for one in map(wrapper.find, source.ancestors()) if one is not None]
    objects = [one for one in map(wrapper.object_of, trackers) if one is not None]
    return frozenset([*map(id, trackers), *(id(one) for (one,) in objects)])


def _place(value: Tracker) -> int:
    """By which a tracker is found among those that `_above` gives."""
    return id(value.peek) if isinstance(value, Lazy) else id(value)


def _is_stage(tx: TraceContext, recording: Recording) -> bool:
    """Whether most of a call that has ended consists of repeated calls."""
    if recording.end is None or recording.repeated.calls < _LAYERS:
        return False
    nodes = tx.graph.stretch(recording.begin.length, recording.end.length)
    return nodes is not None and recording.repeated.operations >= _STAGE * len(nodes)


def _stacks(tx: TraceContext, recording: Recording, call: Call) -> Stacks:
    first, now = recording.modules, tx.graph.module_stack()
    if call.module is not None and call.module.source is not None:
        root = tx.graph.compiled().root
        if recording.inside is None:
            recording.inside = enter(first, recording.root, call.module.cls, root)
        first = recording.inside
        now = enter(now, call.module.source, call.module.cls, root)
    return Stacks(recording.stack, tx.graph.user_stack(), first, now, recording.names_given)


def _pairs(recording: Recording, call: Call) -> list[tuple[Tracker, Tracker]] | None:
    """The arguments of an earlier call and the present ones, if they are alike."""
    if recording.names != call.names or len(recording.arguments) != len(call.arguments):
        return None
    pairs = [
        (known(first), known(present))
        for first, present in zip(recording.arguments, call.arguments, strict=True)
    ]
    for first, present in pairs:
        if not are_alike(first, present):
            return None
    return pairs


def _given_nodes(plan: Plan, pairs: list[tuple[Tracker, Tracker]]) -> dict[fx.Node, fx.Node] | None:
    """The nodes of the tensors given, by those given before; None unless equal ones and different ones correspond, the
    other values that the call uses included."""
    nodes: dict[fx.Node, fx.Node] = {node: node for node in plan.others}
    firsts = tensors_in([first for first, _ in pairs])
    for first, present in zip(firsts, tensors_in([present for _, present in pairs]), strict=True):
        # `layer(x, x)` is not repeated for `layer(x, y)`, nor the other way round: what changes `x` in place
        # would show, or not show, in the second operand
        if nodes.setdefault(first.node, present.node) is not present.node:
            return None
    return nodes if len(set(nodes.values())) == len(nodes) else None
