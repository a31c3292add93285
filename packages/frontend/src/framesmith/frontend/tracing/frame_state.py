"""The values that are handed over at a resume point, and their order: it is said here and nowhere else.

    f: stack [a, NULL, b], x, y, cell c     ResumeState([FrameState([a, b], [x, y], [c], [], [])], [])
    its parameters                          stack_0_0, stack_0_2, x, y, cell_0_c

Three sides use it. The writer of an entry's end flattens trackers into the arguments of a tail call; the continuation
fills the frames with what arrives as its parameters, symbolically for the next trace or natively as Python frames.
Which locals, cells and slots are live: `tracing.frame_layout`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, final

from framesmith.bytecode.resume import StackItem
from framesmith.frontend.tracing.frame_layout import FrameLayout, values_in_slots
from framesmith.frontend.tracing.frame_roles import FrameRole
from framesmith.frontend.tracing.machine import Frame
from framesmith.frontend.tracing.parameter_names import local_name
from framesmith.variables.core import Tracker

V = TypeVar("V")
W = TypeVar("W")


@final
@dataclass(frozen=True, slots=True)
class Reference:
    """In a slot, in place of a value: it refers to the decomposed generator of this number (ADR 0009).

    Told from a value by its exact type: `isinstance` would ask the user's value for its `__class__`.
    The number is that of its frame in the resume point; nothing is handed over for the slot.
    """

    number: int


@final
@dataclass(frozen=True, slots=True)
class FrameState(Generic[V]):
    """What one frame hands over, as names, trackers or real values; the lists may be emptied.

    `stack`: the slots but NULL. `replacement`: the instance on which an `__init__` runs, and `default`: that of
    `next(iterator, default)`; one value or none.
    """

    stack: list[V | Reference]
    locals: list[V | Reference]
    cells: list[V]
    replacement: list[V]
    default: list[V]

    def map(self, function: Callable[[V], W]) -> "FrameState[W]":
        """The same of other values. `function` is called in the order in which values are handed over."""

        def of_slot(value: V | Reference) -> W | Reference:
            return value if type(value) is Reference else function(value)

        return FrameState(
            [of_slot(value) for value in self.stack],
            [of_slot(value) for value in self.locals],
            [function(value) for value in self.cells],
            [function(value) for value in self.replacement],
            [function(value) for value in self.default],
        )


@final
@dataclass(frozen=True, slots=True)
class ResumeState(Generic[V]):
    """What is handed over at a resume point: the frames from the outermost in, those of suspended generators after them,
    and the exception to begin with (`raised`), or none."""

    frames: list[FrameState[V]]
    raised: list[V]

    def map(self, function: Callable[[V], W]) -> "ResumeState[W]":
        """The same of other values. `function` is called in the order in which values are handed over."""
        return ResumeState(
            [frame.map(function) for frame in self.frames], [function(value) for value in self.raised]
        )

    def flatten(self) -> list[V]:
        """All values in order."""
        found: list[V] = []
        self.map(found.append)
        return found

    def unflatten(self, values: list[W]) -> "ResumeState[W]":
        """The state of this form that `flatten` makes these values of.

        The list is emptied: nothing but the state holds what was in it.
        """
        # reversed, so that `pop` takes them in order and leaves nothing behind
        values.reverse()
        state = self.map(lambda _: values.pop())
        assert not values, f"{len(values)} values more than the resume point has"
        return state


def names_of(layout: FrameLayout, depth: int) -> FrameState[str]:
    """The parameter names for the values of one frame, which has this number in its resume point."""
    count = sum(slot is not StackItem.NULL for slot in layout.stack)
    stack = [f"stack_{depth}_{i}" for i, slot in enumerate(layout.stack) if slot is not StackItem.NULL]
    slots: list[str | Reference] = [*stack, *(local_name(name, depth) for name in layout.locals)]
    for position, number in layout.references:
        slots[position] = Reference(number)
    return FrameState(
        slots[:count],
        slots[count:],
        [f"cell_{depth}_{name}" for name in layout.cells],
        [f"result_{depth}"] if layout.replaced else [],
        [f"default_{depth}"] if layout.role is FrameRole.DEFAULT else [],
    )


def state_of(layout: FrameLayout, frame: Frame) -> FrameState[Tracker | None]:
    """The values of one frame; None for a slot that the operation at the break will push."""
    own = values_in_slots(frame.stack)
    more = sum(slot is not StackItem.NULL for slot in layout.stack[len(frame.stack) :])
    count = len(own) + more
    slots: list[Tracker | Reference | None] = [
        *own,
        *[None] * more,
        *(frame.locals[name] for name in layout.locals),
    ]
    for position, number in layout.references:
        slots[position] = Reference(number)
    return FrameState(
        slots[:count],
        slots[count:],
        [frame.cells[name] for name in layout.cells],
        [] if frame.replacement is None else [frame.replacement],
        [] if frame.otherwise is None else [frame.otherwise],
    )
