"""What is live in a frame at an operation: the layout by which its state is taken apart and put together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import CodeType
from typing import TypeAlias, final

from framesmith.bytecode.resume import ResumeLayout, StackItem
from framesmith.frontend.tracing.finalizers import has_observable_lifetime
from framesmith.frontend.tracing.frame_readers import may_read_own_variables
from framesmith.frontend.tracing.frame_roles import FrameRole
from framesmith.frontend.tracing.machine import Frame, SavedException
from framesmith.variables.core import Null, SkippedFrame, Tracker

Keeps: TypeAlias = Callable[[Tracker], bool]


@final
@dataclass(frozen=True, slots=True)
class FrameLayout:
    """Where one frame resumes, and what is handed over to it. Hashable: equal layouts share a continuation."""

    code: CodeType
    namespace: int
    """The `id` of its globals: equal code of two modules does not share a continuation."""
    index: int
    """The operation at which it resumes."""
    stack: tuple[StackItem, ...]
    """What each item of its stack is: NULL, a value, or the exception that is handled."""
    locals: tuple[str, ...]
    """The names of the locals that are handed over."""
    cells: tuple[str, ...]
    """The names of the cells, all of which are handed over."""
    replaced: bool
    """Whether another value than its own is returned, as the instance is where `__init__` was called."""
    current: int
    """The operation that it had begun: the one that waits for the frame inside, or that broke the graph."""
    role: FrameRole = FrameRole.CALL
    skipped: tuple[SkippedFrame, ...] = ()
    """The frames between it and the frame that called it, which are not traced."""
    references: tuple[tuple[int, int], ...] = ()
    """(position, number) of the items, of stack and locals, whose value is a decomposed generator."""

    @property
    def native(self) -> ResumeLayout:
        """The same for `bytecode.resume`."""
        return ResumeLayout(self.stack, self.locals)


def chain_layouts(frames: Sequence[Frame], keeps: Keeps = has_observable_lifetime) -> list[FrameLayout]:
    """The layouts of frames that wait for the one inside them.

    If the inner frame is an iterator step it may raise StopIteration, so use liveness at `current`, not `index`.
    """
    return [
        layout_of(frame, frame.index, frame.index if inner.role is FrameRole.CALL else frame.current, keeps)
        for frame, inner in pairwise(frames)
    ]


def layout_of(
    frame: Frame, index: int, live_at: int | None = None, keeps: Keeps = has_observable_lifetime
) -> FrameLayout:
    """The layout for resuming at operation `index` with the frame's present stack. `live_at`: the operation whose live
    locals are handed over, `index` by default. `keeps`: which others are handed over although they are not read again."""
    live = live_names(frame, index if live_at is None else live_at)
    handler = frame.reading.handlers[frame.current]
    if handler is not None and index != frame.current:  # what it waits for may raise into the handler
        live |= live_names(frame, handler.target)
    return FrameLayout(
        frame.code,
        id(frame.namespace.value),
        index,
        tuple(stack_item_of(value) for value in frame.stack),
        tuple(name for name in in_slot_order(frame) if name in live or keeps(frame.locals[name])),
        tuple(frame.cells),
        frame.replacement is not None,
        frame.current,
        frame.role,
        frame.skipped,
    )


def in_slot_order(frame: Frame) -> list[str]:
    """The names of its bound locals in the order of their slots, in which the frame lets go of them when it ends."""
    slots = {name: slot for slot, name in enumerate(frame.code.co_varnames)}
    return sorted(frame.locals, key=lambda name: slots.get(name, len(slots)))


def values_in_slots(stack: Sequence[Tracker]) -> list[Tracker]:
    """What the slots of a stack carry, in the form in which it is handed over."""
    slots = [slot for slot in stack if not isinstance(slot, Null)]
    return [slot.current if isinstance(slot, SavedException) else slot for slot in slots]


def stack_item_of(value: Tracker) -> StackItem:
    """What the stack item of a tracker is."""
    if isinstance(value, Null):
        return StackItem.NULL
    return StackItem.HANDLED if isinstance(value, SavedException) else StackItem.VALUE


def live_names(frame: Frame, index: int) -> frozenset[str]:
    """Locals that may still be read; all of them where the code may read its own frame."""
    code = frame.code
    if may_read_own_variables(code):
        return frozenset(frame.locals)
    live = frame.reading.live_locals(index)
    if "__class__" in code.co_freevars and code.co_varnames:  # `super()` reads its first argument
        live = live | {code.co_varnames[0]}
    return live
