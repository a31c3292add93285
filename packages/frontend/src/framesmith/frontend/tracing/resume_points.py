"""Resume points: a chain of frames at given operations, with the generators suspended in them.

A point is what a continuation is made for, and its key; a snapshot is a point with the frames that are at it. A
generator that runs is a frame of the chain, and one that is suspended and decomposed is a frame behind it; the slots
that refer to them say which (ADR 0009). The values that are handed over are in `frame_state`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

from framesmith.bytecode.meaning import Kind
from framesmith.frontend.tracing.decomposed_generators import Decomposed
from framesmith.frontend.tracing.frame_layout import FrameLayout, Keeps, layout_of
from framesmith.frontend.tracing.frame_state import FrameState, ResumeState, names_of, state_of
from framesmith.frontend.tracing.machine import Frame, reading_of
from framesmith.variables.core import Tracker


@final
@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where a continuation begins: frames from the outermost in, suspended generators, whether it begins by raising.

    `watched`: a weak reference was made on the way, so that the end of what is handed over may be seen. `borrowed`: the
    positions, among the values, of instances that something else than the frames holds as well.
    Hashable; equal points share a continuation. Layouts hold the ids of the frames' globals, so these are compared too.
    """

    frames: tuple[FrameLayout, ...]
    raises: bool = False
    generators: tuple[FrameLayout, ...] = ()
    watched: bool = False
    borrowed: tuple[int, ...] = ()

    @property
    def layouts(self) -> tuple[FrameLayout, ...]:
        """Those of all frames, the suspended ones last: a frame's place in here is its number."""
        return *self.frames, *self.generators

    @property
    def form(self) -> ResumeState[str]:
        """What is handed over, as the names of the continuation's parameters."""
        frames = [names_of(layout, number) for number, layout in enumerate(self.layouts)]
        return ResumeState(frames, ["raised"] if self.raises else [])

    @property
    def names(self) -> list[str]:
        """The parameter names of the continuation: one for each value that is handed over, in order."""
        return self.form.flatten()

    @property
    def is_in_loop(self) -> bool:
        """Whether one of the frames resumes inside a loop, so that it may come back to the same operation."""
        return any(reading_of(frame.code).is_in_loop(frame.index) for frame in self.frames)


@final
@dataclass(frozen=True, slots=True)
class FrameSnapshot:
    """A resume point and the frames that are at it, those of suspended generators last."""

    point: ResumePoint
    frames: tuple[Frame, ...]

    @property
    def states(self) -> list[FrameState[Tracker | None]]:
        """What the frames hand over; None for a slot that the operation at the break will push."""
        return [
            state_of(layout, frame) for layout, frame in zip(self.point.layouts, self.frames, strict=True)
        ]


def take_snapshot(
    layouts: Sequence[FrameLayout],
    frames: Sequence[Frame],
    decomposed: Decomposed,
    keeps: Keeps,
    *,
    raises: bool = False,
) -> FrameSnapshot:
    """The resume point of these layouts and frames. A slot that holds a decomposed generator refers to its frame by
    number; the frame of a suspended one is added behind the others. The last layout may have more slots than its frame
    has, on top of the stack."""
    chain, found = list(frames), list(layouts)
    numbers = {id(frame): number for number, frame in enumerate(chain)}
    index = 0
    while index < len(chain):  # the frames that are added here may hold generators in turn
        # numbers, not objects: equal points have to be equal whichever generators they refer to (ADR 0005)
        state, references = state_of(found[index], chain[index]), list[tuple[int, int]]()
        for position, value in enumerate((*state.stack, *state.locals)):
            frame = decomposed.get(id(value))
            if frame is None:
                continue
            if id(frame) not in numbers:
                numbers[id(frame)] = len(chain)
                chain.append(frame)
                found.append(make_suspended_layout(frame, keeps))
            references.append((position, numbers[id(frame)]))
        found[index] = replace(found[index], references=tuple(references))
        index += 1
    count = len(frames)
    return FrameSnapshot(ResumePoint(tuple(found[:count]), raises, tuple(found[count:])), tuple(chain))


def make_suspended_layout(frame: Frame, keeps: Keeps) -> FrameLayout:
    """The layout of a generator that is suspended at a `yield`, or before its first instruction."""
    return layout_of(frame, frame.index, keeps=keeps)


def is_fresh(layout: FrameLayout) -> bool:
    """Whether a suspended generator has not begun."""
    return reading_of(layout.code).operations[layout.current].kind is Kind.RETURN_GENERATOR
