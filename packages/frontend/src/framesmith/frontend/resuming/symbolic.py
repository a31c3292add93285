"""Symbolic continuations: the frames of a resume point, put together from the values that were handed over.

The symbolic interpreter starts from them, in mid-code (ADR 0005). The native form of a continuation is in `native`.
What is handed over is one flat list of values, in the order of `frame_state`.
"""

from collections.abc import Sequence
from types import CellType

from framesmith.bytecode.resume import StackItem
from framesmith.frontend.tracing.frame_layout import FrameLayout
from framesmith.frontend.tracing.frame_roles import is_generator
from framesmith.frontend.tracing.frame_state import FrameState, Reference
from framesmith.frontend.tracing.generators import SymbolicGenerator
from framesmith.frontend.tracing.machine import Frame, Machine, SavedException, reading_of
from framesmith.frontend.tracing.resume_points import ResumePoint, is_fresh
from framesmith.frontend.tracing.value_ends import take_ownership
from framesmith.guards.sources import Local
from framesmith.variables.builtin_types.cells import wrap_cell
from framesmith.variables.builtin_types.namespaces import NamespaceTracker, namespace_of
from framesmith.variables.callables.generators import GeneratorTracker
from framesmith.variables.core import NULL, Lazy, Tracker
from framesmith.variables.core.base import TraceContext
from framesmith.variables.core.wrap_rules import lazy


def rebuild_frames(
    tx: TraceContext,
    machine: Machine,
    point: ResumePoint,
    namespaces: Sequence[dict[str, object]],
    values: list[object],
) -> Tracker | None:
    """Put the frames of a resume point into the machine; returns the exception to raise first, if there is one."""
    frames = [
        new_frame_at(machine, layout, namespace_of(tx, namespace))
        for layout, namespace in zip(point.layouts, namespaces, strict=True)
    ]
    machine.frames += frames[: len(point.frames)]
    handed = [lazy(tx, value, Local(name)) for name, value in zip(point.names, values, strict=True)]
    # before `unflatten`, which empties the list
    take_ownership(machine, handed, point)
    state = point.form.unflatten(handed)
    generators = [frame.generator for frame in frames]
    for layout, frame, own_state in zip(point.layouts, frames, state.frames, strict=True):
        # before its slots: a handler among them is entered on top of what the generator's caller handles
        if frame.generator is not None and frame in machine.frames:
            frame.generator.running = True
            assert isinstance(frame.generator.frame, SymbolicGenerator)
            frame.generator.frame.start_running()
        refill(tx, machine, layout, frame, own_state, generators)
    machine.frames[0].barrier = True  # what it returns is the outcome of the run
    return state.raised[0] if state.raised else None


def new_frame_at(machine: Machine, layout: FrameLayout, namespace: NamespaceTracker) -> Frame:
    """An empty frame at the operation of the layout; the frame of a generator gets a tracker for that as well."""
    frame = Frame(layout.code, reading_of(layout.code), namespace, {}, {})
    frame.index, frame.current, frame.role = layout.index, layout.current, layout.role
    frame.skipped = layout.skipped
    if is_generator(layout.code):
        frame.generator = GeneratorTracker(SymbolicGenerator(machine, frame, started=not is_fresh(layout)))
        machine.generators.append(frame.generator)
    return frame


def refill(
    tx: TraceContext,
    machine: Machine,
    layout: FrameLayout,
    frame: Frame,
    state: FrameState[Lazy],
    generators: Sequence[GeneratorTracker | None],
) -> None:
    """Fill a frame with its values; a slot that refers to a generator gets the tracker of the one with that number."""

    def resolve(value: Lazy | Reference) -> Tracker:
        found = generators[value.number] if isinstance(value, Reference) else value
        assert found is not None
        return found

    stack = map(resolve, state.stack)
    for slot in layout.stack:
        if slot is StackItem.NULL:
            frame.push(NULL)
        elif slot is StackItem.HANDLED:
            tracker = next(stack)
            frame.push(SavedException(machine.handled, tracker))
            machine.handled = tracker
        else:
            frame.push(next(stack))
    frame.locals.update(zip(layout.locals, map(resolve, state.locals), strict=True))
    for name, cell in zip(layout.cells, state.cells, strict=True):
        # handed over is the cell itself, not what is in it
        assert isinstance(cell.peek, CellType) and cell.source is not None
        frame.cells[name] = wrap_cell(tx, cell.peek, cell.source)
    frame.replacement = state.replacement[0] if state.replacement else None
    frame.otherwise = state.default[0] if state.default else None
