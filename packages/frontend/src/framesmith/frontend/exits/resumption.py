"""The tail calls with which an entry hands its frames over: to a compiled continuation, or to their native rest.

A snapshot of the frames gives the resume point and the values, which are written in the order of `FrameState`. Not here:
the operation that runs before (`native_operation`), and the functions that are called (the cache binds them).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import final

from framesmith.bytecode.resume import StackItem
from framesmith.frontend.exits.ending import ResumeTarget, TailCallWriter
from framesmith.frontend.exits.weakly_held import WeaklyHeld
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.tracing.decomposed_generators import (
    find_decomposed_generators,
    holds_pending_cleanup,
)
from framesmith.frontend.tracing.finalizers import is_borrowed
from framesmith.frontend.tracing.frame_layout import FrameLayout, Keeps, chain_layouts, layout_of
from framesmith.frontend.tracing.frame_state import FrameState, ResumeState
from framesmith.frontend.tracing.machine import Frame, Machine
from framesmith.frontend.tracing.opcodes.table import Outcome
from framesmith.frontend.tracing.resume_points import FrameSnapshot, take_snapshot
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import GENERATOR
from framesmith.variables.callables.generators import GeneratorTracker
from framesmith.variables.core import Null, Tracker


@final
class Resumption:
    """Hands over the frames of a machine, once for each way in which one entry ends.

    `others`: trackers that are needed as objects, so that no generator which they lead to is handed over decomposed.
    """

    def __init__(self, writer: EntryWriter, machine: Machine, others: Sequence[Tracker]) -> None:
        self._writer = writer
        self._machine = machine
        self._decomposed = find_decomposed_generators(machine, others)
        self._weakly_held = WeaklyHeld(machine, writer)
        self.calls = TailCallWriter(writer)
        self.handed: list[list[Tracker]] = []
        """What each way out hands over."""
        self.operands: Sequence[Tracker] = ()
        """What the operation takes that runs natively."""

    def is_decomposed(self, generator: GeneratorTracker) -> bool:
        """Whether a generator is handed over decomposed."""
        return id(generator) in self._decomposed

    def check_decomposed(self) -> None:
        """Raise GraphBreak if a decomposed generator was built as an object as well: it would exist twice."""
        for generator in self._machine.generators:
            if self.is_decomposed(generator) and self._writer.find_variable(generator) is not None:
                raise GraphBreak(GENERATOR, "a generator that something else holds as well")

    def note_operands(self, operands: Sequence[Tracker], makes_weak_references: bool) -> None:
        """The operands of an operation that runs natively: weak references to them may exist from then on."""
        self.operands = [value for value in operands if not isinstance(value, Null)]
        self._weakly_held.note_operands(operands, makes_weak_references)

    def drops_cleanup(self, frame: Frame) -> bool:
        """Whether a frame that is left would drop a decomposed generator that has pending cleanup."""
        return holds_pending_cleanup(frame, self._decomposed, self._machine.generators)

    # -- the tail calls, as expressions ------------------------------------------------------------
    def run_rest_natively(self, raised: Tracker | None = None) -> str:
        """Run the frames natively from the current operation to their end; with `raised`, begin by raising it there."""
        frame = self._machine.frame
        snapshot = self._snapshot(frame, frame.current, raises=raised is not None)
        values = self._write_state(snapshot)
        error = [] if raised is None else [self._writer.value(raised)]
        return self._write_call(snapshot, ResumeState(values, error), is_native=True)

    def resume_here(self) -> str:
        """Resume at the next operation, none runs natively: what the frames no longer hold is freed in between."""
        frame = self._machine.frame
        snapshot = self._snapshot(frame, frame.index)
        return self._write_call(snapshot, ResumeState(self._write_state(snapshot), []))

    def resume_after(self, outcome: Outcome) -> str:
        """Resume where an outcome of the native operation leads to, with what it pushes on the innermost stack."""
        frames = self._machine.frames
        frame = frames[-1]
        index = frame.current + 1 if outcome.target is None else outcome.target
        layout = layout_of(frame, index, keeps=self._keeps)
        slots = tuple(StackItem.NULL if text == "" else StackItem.VALUE for text in outcome.pushes)
        layout = replace(layout, stack=(*layout.stack, *slots))
        snapshot = self._take_snapshot([*chain_layouts(frames, self._keeps), layout], frames)
        pushed = [text for text in outcome.pushes if text]
        return self._write_call(snapshot, ResumeState(self._write_state(snapshot, pushed), []))

    def resume_raising(self, depth: int, raised: str) -> str:
        """Resume in the innermost of the first `depth` frames by raising there; `raised` is an expression."""
        frames = self._machine.frames[:depth]
        layouts = [*chain_layouts(frames, self._keeps), raising_layout(frames[-1], self._keeps)]
        snapshot = self._take_snapshot(layouts, frames, raises=True)
        return self._write_call(snapshot, ResumeState(self._write_state(snapshot), [raised]))

    # -- their parts -------------------------------------------------------------------------------
    @property
    def _keeps(self) -> Keeps:
        return self._weakly_held.keeps

    def _snapshot(self, innermost: Frame, index: int, *, raises: bool = False) -> FrameSnapshot:
        """A snapshot of all frames, the innermost at this operation with its present stack."""
        frames = self._machine.frames
        layouts = [*chain_layouts(frames, self._keeps), layout_of(innermost, index, keeps=self._keeps)]
        return self._take_snapshot(layouts, frames, raises=raises)

    def _take_snapshot(
        self, layouts: Sequence[FrameLayout], frames: Sequence[Frame], *, raises: bool = False
    ) -> FrameSnapshot:
        """A snapshot of these frames; its point also says what is borrowed and whether weak references were made."""
        snapshot = take_snapshot(layouts, frames, self._decomposed, self._keeps, raises=raises)
        values = ResumeState(snapshot.states, []).flatten()
        self.handed.append([value for value in values if value is not None])
        borrowed = [
            position
            for position, value in enumerate(values)
            if value is not None and is_borrowed(self._machine, value)
        ]
        watched = self._machine.value_ends.watched
        return replace(snapshot, point=replace(snapshot.point, watched=watched, borrowed=tuple(borrowed)))

    def _write_state(self, snapshot: FrameSnapshot, pushed: Sequence[str] = ()) -> list[FrameState[str]]:
        """Expressions for the values of all frames; `pushed` are what the operation pushes on the innermost stack."""
        new = iter(pushed)

        def text_of(value: Tracker | None) -> str:
            return next(new) if value is None else self._writer.value(value)

        return [state.map(text_of) for state in snapshot.states]

    def _write_call(
        self, snapshot: FrameSnapshot, state: ResumeState[str], *, is_native: bool = False
    ) -> str:
        namespaces = tuple(frame.namespace.value for frame in snapshot.frames)
        return self.calls.write_call(ResumeTarget(snapshot.point, namespaces, is_native), state)


def raising_layout(frame: Frame, keeps: Keeps) -> FrameLayout:
    """The layout of a frame whose current operation raises: what its handler may read is live."""
    handler = frame.reading.handlers[frame.current]
    index = frame.current if handler is None else handler.target
    return layout_of(frame, frame.current, index, keeps)
