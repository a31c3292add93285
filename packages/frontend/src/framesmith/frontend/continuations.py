"""Continuations: a chain of frames at given operations, and the functions that go on there.

Symbolic form: a `Point` from which the translator starts. Native form: `bytecode.resume` functions, run
innermost first. What is handed over is one flat list of values, in the order of `Point.names`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import CellType, CodeType, FunctionType
from typing import Final, NoReturn, final

from framesmith.bytecode.meaning import stack_depths
from framesmith.bytecode.resume import ResumeLayout, Slot, resume_function
from framesmith.frontend.layout import FrameLayout
from framesmith.frontend.machine import Frame, Machine, SavedException, reading_of
from framesmith.guards import Source
from framesmith.guards.sources import Local
from framesmith.variables.builtin_types.cells import CellTracker, wrap_cell
from framesmith.variables.builtin_types.namespaces import namespace_of
from framesmith.variables.core import NULL, Tracker
from framesmith.variables.core.base import TraceContext
from framesmith.variables.core.wrap_rules import lazy
from framesmith.variables.objects.tracebacks import Passage


@final
@dataclass(frozen=True, slots=True)
class Point:
    """Where a continuation goes on: frames from the outermost in, and whether it begins by raising.

    Hashable; equal points share a continuation. `namespaces` are compared through the layouts' ids.
    """

    frames: tuple[FrameLayout, ...]
    raises: bool = False

    @property
    def names(self) -> list[str]:
        """The parameter names, in order."""
        found: list[str] = []
        for depth, frame in enumerate(self.frames):
            found += [f"stack_{depth}_{i}" for i, slot in enumerate(frame.stack) if slot is not Slot.NULL]
            found += [local_name(name, depth) for name in frame.locals]
            found += [f"cell_{depth}_{name}" for name in frame.cells]
            if frame.replaced:
                found.append(f"result_{depth}")
        return [*found, "raised"] if self.raises else found

    @property
    def is_in_loop(self) -> bool:
        """Whether one of the frames comes back to where it goes on."""
        return any(reading_of(frame.code).is_in_loop(frame.index) for frame in self.frames)


_NO_VARIABLES: Final = ("stack_", "cell_", "result_", "raised")


def is_variable(name: str) -> bool:
    """Whether a parameter of a continuation carries a variable of the user's; other names mean something at one point."""
    return not name.startswith(_NO_VARIABLES)


def local_name(name: str, depth: int) -> str:
    """A parameter for a local variable; hidden ones (`.0`) get a name that Python accepts."""
    text = name if name.isidentifier() else f"hidden_{name.encode().hex()}"
    return text if depth == 0 and is_variable(text) else f"local_{depth}_{text}"


def state_of(point: Point, frames: list[Frame]) -> list[Tracker]:
    """The trackers to hand over, in the order of `point.names` (without the exception)."""
    found: list[Tracker] = []
    for layout, frame in zip(point.frames, frames, strict=True):
        found += layout.stack_values(frame)
        found += layout.local_values(frame)
        found += [frame.cells[name] for name in layout.cells]
        if layout.replaced:
            assert frame.replacement is not None
            found.append(frame.replacement)
    return found


def rebuild_frames(
    tx: TraceContext,
    machine: Machine,
    point: Point,
    namespaces: list[dict[str, object]],
    values: list[object],
) -> Tracker | None:
    """Put the frames of a point into the machine; returns the tracker of the exception to raise, if any."""
    given = iter(zip(point.names, values, strict=True))

    def take() -> tuple[object, Source]:
        name, value = next(given)
        return value, Local(name)

    for layout, namespace in zip(point.frames, namespaces, strict=True):
        stack: list[Tracker] = []
        for slot in layout.stack:
            if slot is Slot.NULL:
                stack.append(NULL)
                continue
            value, source = take()
            tracker = lazy(tx, value, source)
            if slot is Slot.HANDLED:
                stack.append(SavedException(machine.handled, tracker))
                machine.handled = tracker
            else:
                stack.append(tracker)
        local_variables: dict[str, Tracker] = {}
        for name in layout.locals:
            value, source = take()
            local_variables[name] = lazy(tx, value, source)
        cells: dict[str, CellTracker] = {}
        for name in layout.cells:
            value, source = take()
            assert isinstance(value, CellType)
            cells[name] = wrap_cell(tx, value, source)
        frame = Frame(
            layout.code,
            reading_of(layout.code),
            namespace_of(tx, namespace),
            local_variables,
            cells,
            stack=stack,
        )
        frame.index, frame.current = layout.index, layout.current
        if layout.replaced:
            value, source = take()
            frame.replacement = lazy(tx, value, source)
        machine.frames.append(frame)
    machine.frames[0].barrier = True
    if not point.raises:
        return None
    value, source = take()
    return lazy(tx, value, source)


_UNBOUND_CELL: Final = re.compile(
    "cannot access free variable '(.*)' where it is not associated with a value"
)


def as_users(error: BaseException, code: CodeType) -> BaseException:
    """What the user's own frame would raise: the variables with cells are free variables in a continuation, and an
    unbound one is a NameError there."""
    found = _UNBOUND_CELL.match(str(error)) if type(error) is NameError else None
    traceback = error.__traceback__
    if (
        found is None
        or found[1] not in code.co_cellvars
        or traceback is None
        or traceback.tb_next is not None
    ):
        return error
    local = UnboundLocalError(
        f"cannot access local variable '{found[1]}' where it is not associated with a value"
    )
    local.__context__, local.__cause__ = error.__context__, error.__cause__
    local.__suppress_context__ = error.__suppress_context__
    return local.with_traceback(traceback)


@final
class NativeContinuation:
    """Goes on natively: each frame through its resume function, the innermost first.

    An exception that leaves a frame is raised in the next outer one where its call stands, so handlers,
    `finally` and tracebacks are those of the user's functions.
    """

    def __init__(self, point: Point, namespaces: list[dict[str, object]]) -> None:
        self._point = point
        self._namespaces = namespaces
        self._codes: dict[tuple[int, int, bool], CodeType] = {}
        self._passages: dict[int, Passage] = {}

    def __call__(self, values: list[object]) -> object:
        """Run to the end of the outermost frame. The list is emptied: the frames alone hold what was in it."""
        point = self._point
        raised = take_last(values, int(point.raises))
        returned: list[object] = []
        for depth in range(len(point.frames) - 1, -1, -1):
            own = take_last(values, share(point.frames[depth]))
            handled = self._handled(depth, values)
            try:
                if handled is None:
                    returned.append(self._run(depth, own, returned, raised))
                else:
                    self._run_handling(handled, depth, own, returned, raised)
            except BaseException as caught:
                error = as_users(without_our_frames(caught), point.frames[depth].code)
                raised.append(error)
                if depth:
                    self._passage(depth - 1)(error)
                del error
        if raised:
            raise_from(raised)
        return returned.pop()

    def _handled(self, depth: int, values: list[object]) -> BaseException | None:
        """What the frames around one are handling: it is the context of what is raised inside. `values` are theirs."""
        end = len(values)
        for layout in reversed(self._point.frames[:depth]):
            end -= share(layout)
            carried = [slot for slot in layout.stack if slot is not Slot.NULL]
            for index in range(len(carried) - 1, -1, -1):
                value = values[end + index]
                if carried[index] is Slot.HANDLED and isinstance(value, BaseException):
                    return value
        return None

    def _run_handling(
        self,
        handled: BaseException,
        depth: int,
        values: list[object],
        returned: list[object],
        raised: list[object],
    ) -> None:
        """Run a frame inside a handler."""
        kept = handled.__traceback__, handled.__context__
        try:
            raise handled
        except BaseException:
            restored(handled, kept)
            returned.append(self._run(depth, values, returned, raised))

    def _run(self, depth: int, values: list[object], returned: list[object], raised: list[object]) -> object:
        """Run one frame; `returned` or `raised` hold what the one inside did, if there was one, and are emptied."""
        layout = self._point.frames[depth]
        replacement = values.pop() if layout.replaced else None
        cells = dict(zip(layout.cells, take_last(values, len(layout.cells)), strict=True))
        bound = take_last(values, len(layout.locals))
        slots = layout.stack
        if raised:
            missing = missing_slots(layout)
            values += [None] * missing
            slots = (*slots, *[Slot.VALUE] * missing)
        else:
            slots = (*slots, *[Slot.VALUE] * len(returned))
            values += returned
        returned.clear()
        code = self._code(layout, slots, bool(raised))
        closure = tuple(cells.get(name) or CellType() for name in code.co_freevars)
        function = FunctionType(code, self._namespaces[depth], None, None, closure)  # type: ignore[arg-type]  # cells
        values += [*bound, *raised]
        raised.clear()
        del bound, cells, closure
        values.reverse()
        result = mover(len(values))(function, values)
        return replacement if layout.replaced else result

    def _passage(self, depth: int) -> Passage:
        """What names a frame in the traceback of an exception that comes to it from a call."""
        if depth not in self._passages:
            layout = self._point.frames[depth]
            line = reading_of(layout.code).operations[layout.current].position.line
            self._passages[depth] = Passage(((layout.code, line or layout.code.co_firstlineno),))
        return self._passages[depth]

    def _code(self, layout: FrameLayout, slots: tuple[Slot, ...], raises: bool) -> CodeType:
        index = layout.current if raises else layout.index
        key = (id(layout), len(slots), raises)
        if key not in self._codes:
            native = ResumeLayout(slots, layout.locals, raises)
            self._codes[key] = resume_function(layout.code, index, native)
        return self._codes[key]


def restored(exception: BaseException, kept: tuple[object, BaseException | None]) -> None:
    """Undo what raising an exception again did to it."""
    exception.__traceback__ = kept[0]  # type: ignore[assignment]  # it was its traceback
    exception.__context__ = kept[1]


def raise_from(raised: list[object]) -> NoReturn:
    """Raise what is in the list; no frame of ours holds the exception, which holds the frame."""
    error = raised.pop()
    assert isinstance(error, BaseException)
    try:
        raise error
    finally:
        del error


def take_last(values: list[object], count: int) -> list[object]:
    """The last values, taken out of the list."""
    start = len(values) - count
    taken = values[start:]
    del values[start:]
    return taken


@cache
def mover(count: int) -> Callable[[FunctionType, list[object]], object]:
    """Calls a function with the values of a list, last one first, and empties the list: only the callee holds them."""
    arguments = ", ".join(["values.pop()"] * count)
    code = compile(f"lambda function, values: function({arguments})", __file__, "eval")
    return FunctionType(code.co_consts[0], {})


def share(layout: FrameLayout) -> int:
    """How many values one frame takes."""
    values = sum(slot is not Slot.NULL for slot in layout.stack)
    return values + len(layout.locals) + len(layout.cells) + layout.replaced


def missing_slots(layout: FrameLayout) -> int:
    """How many operands the running operation had taken off the stack: they are filled up before it raises."""
    depth = stack_depths(reading_of(layout.code))[layout.current]
    return 0 if depth is None else max(depth - len(layout.stack), 0)


def without_our_frames(error: BaseException) -> BaseException:
    """Take the frames of this module off the head of the traceback."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return error.with_traceback(traceback)
