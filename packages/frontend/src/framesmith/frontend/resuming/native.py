"""Native continuations: the frames of a resume point run as plain Python, as functions that `bytecode.resume` makes."""

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import CellType, CodeType, FunctionType, GeneratorType
from typing import NoReturn, TypeVar, final

from framesmith.bytecode.meaning import stack_depths
from framesmith.bytecode.resume import ResumeLayout, StackItem, resume_function
from framesmith.frontend.generated.synthetic_frames import FramePlace, make_synthetic_frame
from framesmith.frontend.generated.verification import verify_if_enabled
from framesmith.frontend.hidden_frames import hidden, is_hidden
from framesmith.frontend.replaced_builtins import OriginalBuiltins, ProgramBuiltins
from framesmith.frontend.resuming.unwinding import Unwinding, find_interruption
from framesmith.frontend.tracing.frame_layout import FrameLayout
from framesmith.frontend.tracing.frame_readers import may_read_callers
from framesmith.frontend.tracing.frame_roles import FrameRole, end_of_iteration, is_generator
from framesmith.frontend.tracing.frame_state import FrameState, Reference, ResumeState
from framesmith.frontend.tracing.machine import reading_of
from framesmith.frontend.tracing.resume_points import ResumePoint, is_fresh
from framesmith.variables.callables.polyfill_functions import is_polyfill_code
from framesmith.variables.objects.exception_chains import raise_unchained, restore_exception
from framesmith.variables.objects.tracebacks import Passage

V = TypeVar("V")
RealGenerator = Generator[object, object, object]


@final
@dataclass(slots=True)
class InnerResult:
    """What the inner frame gave: nothing (there is none), a value, an exception, or the end of an iterator.

    Each list holds one value at most, and is emptied when the frame around takes it, so that nothing else holds it.
    `interrupts`: the exception is to be raised behind the operation that the frame has done, not at it.
    """

    returned: list[object]
    raised: list[object]
    ended_by: FrameRole | None = None
    interrupts: bool = False


@final
class NativeContinuation:
    """Runs frames natively, each through its resume function, the innermost first (ADR 0005).

    An exception that leaves a frame is raised in the next outer one at its call, so handlers, `finally` and
    tracebacks are those of the user's functions. A generator that runs becomes a real one, asked for its next value.
    """

    def __init__(self, point: ResumePoint, namespaces: Sequence[dict[str, object]]) -> None:
        self._point = point
        self._form = point.form
        self._layouts = (*point.frames, *map(make_suspended_start, point.generators))
        self._namespaces = namespaces
        self._codes: dict[tuple[int, int, tuple[StackItem, ...], bool], CodeType] = {}
        self._passages: dict[int, Passage] = {}
        self._synthetic_frames: dict[int, Callable[..., object] | None] = {}
        self._reference_counts = Counter(
            number for layout in self._layouts for _, number in layout.references
        )

    @hidden
    def __call__(self, values: list[object]) -> object:
        """Run to the end of the outermost frame and return its result, or raise what leaves it.

        `values` are in the order of `frame_state`. The list is emptied: only the frames hold what was in it.
        """
        with OriginalBuiltins():
            state = self._form.unflatten(values)
            return self._run_frames(state, InnerResult([], state.raised))

    @hidden
    def interrupt(self, values: list[object], error: BaseException) -> object:
        """As a call, but an exception is raised where the frames go on: their handlers, `finally` and `with` see it."""
        with OriginalBuiltins():
            state = self._form.unflatten(values)
            # also in place of the exception that the point begins with
            state.raised[:] = [error]
            return self._run_frames(state, InnerResult([], state.raised, interrupts=not self._point.raises))

    def unwind(self, values: list[object]) -> None:
        """Leave the frames: their `finally` and `with` run. What these raise is dropped, unless it ends the process."""
        with suppress(Unwinding, Exception):
            self.interrupt(values, Unwinding())

    @hidden
    def _run_frames(self, state: ResumeState[object], inner: InnerResult) -> object:
        """Run the frames from the innermost on; `inner` is what the operation gave at which that resumes."""
        frames, count = state.frames, len(self._point.frames)
        suspended = dict(enumerate(pop_last(frames, len(frames) - count), count))
        generators = Generators(Counter(self._reference_counts), suspended, self._make_suspended)
        while frames:
            frame = frames.pop()
            depth = len(frames)
            handled = self._find_handled(frames)
            try:
                if handled is None:
                    inner.returned.append(self._run(depth, frame, inner, generators))
                else:
                    self._run_handling(handled, depth, frame, inner, generators)
            except BaseException as error:
                self._pass_on(depth, strip_traceback_head(error), frame.default, inner)
        if inner.raised:
            raise_from(inner.raised)
        return inner.returned.pop()

    def _pass_on(self, depth: int, error: BaseException, default: list[object], inner: InnerResult) -> None:
        """An exception has left a frame: it ends the iteration of the frame around, or is to be raised there.

        `default`: that of `next(iterator, default)`, if the frame was entered for that.
        """
        role = self._point.frames[depth].role
        if role is not FrameRole.CALL and isinstance(error, StopIteration):
            inner.ended_by = role
            inner.returned[:] = default or [error.value]
            return
        inner.raised.append(error)
        # CPython would name the frame around at its call; polyfills are no frames of the user's
        if depth and not is_polyfill_code(self._point.frames[depth - 1].code):
            self._get_passage(depth - 1)(error)

    def _find_handled(self, around: list[FrameState[object]]) -> BaseException | None:
        """The exception that the frames around another one handle (the innermost such frame counts), or None.

        It becomes the context of what is raised inside.
        """
        for layout, state in zip(reversed(self._point.frames[: len(around)]), reversed(around), strict=True):
            slots = [slot for slot in layout.stack if slot is not StackItem.NULL]
            for slot, value in zip(reversed(slots), reversed(state.stack), strict=True):
                if slot is StackItem.HANDLED and isinstance(value, BaseException):
                    return value
        return None

    @hidden
    def _run_handling(
        self,
        handled: BaseException,
        depth: int,
        frame: FrameState[object],
        inner: InnerResult,
        generators: "Generators",
    ) -> None:
        """Run a frame while CPython handles `handled`: it is raised again for that, and put back as it was."""
        kept = handled.__traceback__, handled.__context__
        try:
            raise handled
        except BaseException:
            restore_exception(handled, kept)
            inner.returned.append(self._run(depth, frame, inner, generators))

    @hidden
    def _run(
        self, depth: int, frame: FrameState[object], inner: InnerResult, generators: "Generators"
    ) -> object:
        """Run one frame until it returns or yields; what the inner one gave is taken out of `inner`."""
        layout = self._layouts[depth]
        result = self._call_resume_function(depth, frame, inner, generators)
        if is_generator(layout.code):
            assert isinstance(result, GeneratorType)
            generators.keep(depth, result)
            with ProgramBuiltins():
                result = next(result)
        if not layout.replaced:
            return result
        if result is not None:  # the frame is an `__init__`: slot_tp_init in Objects/typeobject.c
            raise TypeError(f"__init__() should return None, not '{type(result).__name__}'")
        return frame.replacement.pop()

    @hidden
    def _call_resume_function(
        self, number: int, frame: FrameState[object], inner: InnerResult, generators: "Generators"
    ) -> object:
        """Call the resume function of a frame; returns its result, or a new generator for the code of one.

        The state is emptied, but for what the frame does not take.
        """
        layout = self._layouts[number]
        cells = dict(zip(layout.cells, take_all(frame.cells), strict=True))
        values, bound = (
            [
                generators.take(value.number) if type(value) is Reference else value
                for value in take_all(slots)
            ]
            for slots in (frame.stack, frame.locals)
        )
        index, slots = self._resume_layout(layout, values, inner)
        code = self._get_code(number, index, slots, bool(inner.raised))
        # a cell that was not handed over is one that the frame has not made yet
        closure = tuple(cells.get(name) or CellType() for name in code.co_freevars)
        function: Callable[..., object] = FunctionType(code, self._namespaces[number], None, None, closure)  # type: ignore[arg-type]  # cells
        # an exception is one more argument of the resume function
        values += [*bound, *inner.raised]
        inner.raised.clear()
        # only the callee may hold them, which empties the list: CPython drops a variable when the frame does (ADR 0014)
        del bound, cells, closure
        # not the outermost frame, whose caller is real, and not a suspended generator, which has no caller
        if number and number < len(self._point.frames) and may_read_callers(layout.code):
            stands = self._get_synthetic_frame(number)
            if stands is not None:
                function = partial(stands, function)
        # the call of a generator function returns before anything runs; the frame is to have the program's variables
        given = take_all(values) if is_generator(layout.code) else None
        with ProgramBuiltins():
            return function(values) if given is None else function(*given)

    def _resume_layout(
        self, layout: FrameLayout, values: list[object], inner: InnerResult
    ) -> tuple[int, tuple[StackItem, ...]]:
        """Operation and stack items at which a frame resumes with what the inner one gave; its value joins `values`."""
        index, slots = layout.index, layout.stack
        if inner.interrupts:
            inner.interrupts = False
            index, slots, missing = find_interruption(layout)
            values[sum(slot is not StackItem.NULL for slot in slots) :] = [None] * missing
            return index, (*slots, *[StackItem.VALUE] * missing)
        # at the call, so that its handlers are found; it has popped its operands: None takes their slots
        if inner.raised:
            missing = count_missing_slots(layout)
            values += [None] * missing
            return layout.current, (*slots, *[StackItem.VALUE] * missing)
        if inner.ended_by is not None:
            found = end_of_iteration(inner.ended_by, reading_of(layout.code).operations[layout.current])
            assert found is not None
            inner.ended_by = None
            pop_last(values, found.drops)
            slots = slots[: len(slots) - found.drops]
            index = index if found.target is None else found.target
            if not found.pushes:
                inner.returned.clear()
        slots = (*slots, *[StackItem.VALUE] * len(inner.returned))
        values += inner.returned
        inner.returned.clear()
        return index, slots

    @hidden
    def _make_suspended(
        self, number: int, frame: FrameState[object], generators: "Generators"
    ) -> RealGenerator:
        """A real generator, suspended at its `yield` or before its first instruction."""
        fresh = is_fresh(self._layouts[number])
        generator = self._call_resume_function(
            number, frame, InnerResult([] if fresh else [None], []), generators
        )
        assert isinstance(generator, GeneratorType)
        if not fresh:
            with ProgramBuiltins():
                next(generator)  # its resume function begins at the `yield`
        return generator

    def _get_synthetic_frame(self, depth: int) -> Callable[..., object] | None:
        """What calls the function of a frame under functions with the names and globals of the frames around it, for
        code that looks at its callers: `namedtuple` takes the module of its class from there. Made once."""
        if depth not in self._synthetic_frames:
            self._synthetic_frames[depth] = make_synthetic_frame(
                [
                    FramePlace(layout.code, self._line_of(layout), namespace)
                    for layout, namespace in zip(self._point.frames[:depth], self._namespaces, strict=False)
                    if not is_polyfill_code(layout.code)
                ]
            )
        return self._synthetic_frames[depth]

    @staticmethod
    def _line_of(layout: FrameLayout) -> int:
        return reading_of(layout.code).operations[layout.current].position[0] or layout.code.co_firstlineno

    def _get_passage(self, depth: int) -> Passage:
        """What adds a frame to the traceback of an exception that comes from its call; made once."""
        if depth not in self._passages:
            layout = self._point.frames[depth]
            position = reading_of(layout.code).operations[layout.current].position
            self._passages[depth] = Passage(((layout.code, position),))
        return self._passages[depth]

    def _get_code(self, number: int, index: int, slots: tuple[StackItem, ...], raises: bool) -> CodeType:
        key = (number, index, slots, raises)
        if key not in self._codes:
            layout = self._layouts[number]
            native = ResumeLayout(slots, layout.locals, raises, packed=not is_generator(layout.code))
            self._codes[key] = verify_if_enabled(resume_function(layout.code, index, native))
        return self._codes[key]


def make_suspended_start(layout: FrameLayout) -> FrameLayout:
    """The layout at which the resume function of a suspended generator begins.

    That is its `yield`, or the operation behind the start of its frame if it has not begun.
    """
    return replace(layout, index=layout.index + 1 if is_fresh(layout) else layout.current)


@final
class Generators:
    """The real generators of one continuation.

    Each is made for the first slot that refers to it and let go of with the last, so that only frames hold it. One that
    runs is made where its frame is run, and noted here by `keep`.
    """

    def __init__(
        self,
        reference_counts: Counter[int],
        suspended: dict[int, FrameState[object]],
        make: "Callable[[int, FrameState[object], Generators], RealGenerator]",
    ) -> None:
        self._reference_counts = reference_counts
        self._suspended = suspended
        self._make = make
        self._made: dict[int, RealGenerator] = {}

    def keep(self, number: int, generator: RealGenerator) -> None:
        """Note a generator that runs, if slots refer to it."""
        if self._reference_counts[number]:
            self._made[number] = generator

    def take(self, number: int) -> RealGenerator:
        """The generator for one of the slots that refer to it."""
        if number not in self._made:
            self._made[number] = self._make(number, self._suspended.pop(number), self)
        self._reference_counts[number] -= 1
        return self._made[number] if self._reference_counts[number] else self._made.pop(number)


def raise_from(raised: list[object]) -> NoReturn:
    """Raise the exception in the list, and empty it: a frame of ours that held the exception would be held by it."""
    error = raised.pop()
    assert isinstance(error, BaseException)
    try:
        raise_unchained(error)
    finally:
        del error


def pop_last(values: list[V], count: int) -> list[V]:
    """Take the last `count` values out of the list."""
    start = len(values) - count
    taken = values[start:]
    del values[start:]
    return taken


def take_all(values: list[V]) -> list[V]:
    """Take all values out of the list."""
    return pop_last(values, len(values))


def count_missing_slots(layout: FrameLayout) -> int:
    """How many operands the running operation has popped: the stack is filled up by as many before it raises."""
    depth = stack_depths(reading_of(layout.code))[layout.current]
    return 0 if depth is None else max(depth - len(layout.stack), 0)


def strip_traceback_head(error: BaseException) -> BaseException:
    """The exception, with the frames of framesmith and of polyfills taken off the head of its traceback."""
    traceback = error.__traceback__
    while traceback is not None and (
        traceback.tb_frame.f_code.co_filename == __file__
        or is_hidden(traceback.tb_frame.f_code)
        or is_polyfill_code(traceback.tb_frame.f_code)
    ):
        traceback = traceback.tb_next
    return error.with_traceback(traceback)
