"""What is live in a frame at an operation: the plan by which its state is taken apart and put together."""

from dataclasses import dataclass
from types import CodeType
from typing import Final, final

from framesmith.bytecode.meaning import Reading
from framesmith.bytecode.resume import ResumeLayout, Slot
from framesmith.frontend.lifetimes import is_loose
from framesmith.frontend.machine import Frame, SavedException
from framesmith.variables.core import Null, Tracker

_LOOKS_AT_LOCALS: Final = frozenset({"locals", "vars", "eval", "exec", "dir"})


@final
@dataclass(frozen=True, slots=True)
class FrameLayout:
    """Where one frame goes on, and what has to be handed to it. Hashable: equal layouts share a continuation."""

    code: CodeType
    namespace: int
    index: int
    stack: tuple[Slot, ...]
    locals: tuple[str, ...]
    cells: tuple[str, ...]
    replaced: bool
    current: int

    @property
    def native(self) -> ResumeLayout:
        """The same for `bytecode.resume`."""
        return ResumeLayout(self.stack, self.locals)

    def stack_values(self, frame: Frame) -> list[Tracker]:
        """The trackers of the stack slots that carry a value."""
        found: list[Tracker] = []
        for slot, value in zip(self.stack, frame.stack, strict=True):
            if slot is not Slot.NULL:
                found.append(value.current if isinstance(value, SavedException) else value)
        return found

    def local_values(self, frame: Frame) -> list[Tracker]:
        """The trackers of the live locals."""
        return [frame.locals[name] for name in self.locals]


def layout_of(frame: Frame, index: int) -> FrameLayout:
    """The layout for going on at operation `index` with the frame's present stack."""
    live = live_names(frame, index)
    return FrameLayout(
        frame.code,
        id(frame.namespace.value),
        index,
        tuple(slot_of(value) for value in frame.stack),
        tuple(name for name, value in frame.locals.items() if name in live or is_loose(value)),
        tuple(frame.cells),
        frame.replacement is not None,
        frame.current,
    )


def slot_of(value: Tracker) -> Slot:
    """What kind of stack slot a tracker stands in."""
    if isinstance(value, Null):
        return Slot.NULL
    return Slot.HANDLED if isinstance(value, SavedException) else Slot.VALUE


def live_names(frame: Frame, index: int) -> frozenset[str]:
    """Locals that may still be read; all of them where the code can look at its own frame."""
    code = frame.code
    if not _LOOKS_AT_LOCALS.isdisjoint(code.co_names):
        return frozenset(frame.locals)
    live = frame.reading.live_locals(index)
    if "__class__" in code.co_freevars and code.co_varnames:
        live = live | {code.co_varnames[0]}
    return live


def in_region(reading: Reading, index: int) -> bool:
    """Whether an exception raised at an operation has a handler in the same frame."""
    return reading.handlers[index] is not None
