"""The symbolic frame of a generator: run in the machine from one `yield` to the next.

The tracker of a generator is in `variables.callables.generators`.
"""

import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import final

from framesmith.bytecode.meaning import Kind
from framesmith.bytecode.resume import resume_function
from framesmith.frontend.tracing.finalizers import held_by, runs_finalizer
from framesmith.frontend.tracing.frame_layout import layout_of, values_in_slots
from framesmith.frontend.tracing.machine import Frame, Machine, is_stop_iteration, saved_exception
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import GENERATOR
from framesmith.variables.builtin_types.cells import CellTracker
from framesmith.variables.builtin_types.iterators import IteratorTracker
from framesmith.variables.callables.generators import GeneratorTracker, Returned, Yielded, generator_close
from framesmith.variables.core import Constant, ObservedException, Tracker, Writer


@final
class SymbolicGenerator:
    """A suspended symbolic frame (the `SuspendedFrame` protocol)."""

    def __init__(self, machine: Machine, frame: Frame, *, started: bool = False) -> None:
        self._machine = machine
        self.frame = frame
        self._started = started
        self._handled: Tracker | None = None
        self._outside: Tracker | None = machine.handled

    @property
    def started(self) -> bool:
        """Whether it has begun: it is at a `yield`, runs, or has ended."""
        return self._started

    @property
    def is_handling(self) -> bool:
        """Whether it is suspended inside an exception handler."""
        return self._handled is not None

    @property
    def outside(self) -> Tracker | None:
        """The exception that its caller handles while it runs."""
        return self._outside

    @property
    def has_cleanup(self) -> bool:
        """Whether dropping the generator in its present state runs code of the user."""
        frame = self.frame
        # before its first instruction it is inside of no block
        if not self._started:
            return False
        receiver = self._subiterator()
        if receiver is not None and not isinstance(receiver, GeneratorTracker | IteratorTracker):
            return True  # it may have a `close` of its own
        return has_user_handler(frame) or any(runs_finalizer(value) for value in frame.stack)

    def release(self) -> None:
        """Let go of all values."""
        self.frame.release()

    def held_values(self) -> Iterator[Tracker]:
        """What the frame holds."""
        return iter(held_by(self.frame))

    def close(self, exception: Tracker) -> Yielded | Returned:
        """Raise at the `yield` where it is suspended; what the frame holds goes as soon as the exception leaves it."""
        receiver = self._subiterator()
        if isinstance(receiver, GeneratorTracker):
            try:
                generator_close(self._machine.tx, receiver)
            except ObservedException as error:
                exception = error.exception
        elif receiver is not None:
            self._check_thrown(receiver)
        self.frame.closing = True
        try:
            return self._resume(Constant(None), exception)
        finally:
            self.frame.closing = False

    def _subiterator(self) -> Tracker | None:
        """The iterator of the `yield from` at which it is suspended."""
        frame = self.frame
        # a `yield from` is SEND and then YIELD, at which it is suspended
        before = frame.reading.operations[frame.current - 1]
        if not self._started or before.kind is not Kind.SEND:
            return None
        slots = before.argument if isinstance(before.argument, int) else 0
        return frame.stack[-max(slots, 1)].realize()

    def _check_thrown(self, receiver: Tracker) -> None:
        """Raise GraphBreak if an exception would have to be thrown into what this generator delegates to as well.

        An iterator written in C does not take it.
        """
        if not isinstance(receiver, IteratorTracker):
            raise GraphBreak(GENERATOR, "an exception thrown into a generator that delegates to another one")

    def resume(self, value: Tracker, exception: Tracker | None) -> Yielded | Returned:
        """Resume with a value or an exception; the caller's handled exception is put back afterwards."""
        receiver = None if exception is None else self._subiterator()
        if receiver is not None:
            self._check_thrown(receiver)
        return self._resume(value, exception)

    def _resume(self, value: Tracker, exception: Tracker | None) -> Yielded | Returned:
        machine, frame = self._machine, self.frame
        raised = None if exception is None else ObservedException(exception)
        if raised is not None and self._handled is None and not frame.closing:
            raised.chained = (
                True  # `throw` knows only what the generator itself handles (CPython: gen_send_ex2)
            )
        # it leaves at once: none of its handlers is in force before the first instruction
        if not self._started and raised is not None:
            if is_stop_iteration(raised) and not _converts_stop_iteration(frame):
                raised.exception = machine.make_replacement(
                    raised.exception, "generator raised StopIteration"
                )
            try:
                raise raised
            finally:
                del raised  # it holds this frame
        self.start_running()
        # also below an exception, where the handler of a `yield from` finds it (CPython: gen_send_ex2)
        frame.push(value if raised is None else Constant(None))
        frame.barrier = True
        try:
            outcome = machine.run(frame, raised)
        finally:
            self.leave()
        assert isinstance(outcome, Yielded | Returned)
        return outcome

    def enter(self, value: Tracker) -> None:
        """Resume with a value, as the innermost frame of the machine."""
        self.frame.barrier = False
        self._machine.enter(self.frame)
        self.start_running()
        self.frame.push(value)

    def start_running(self) -> None:
        """It runs from now on, in the machine and with its own handled exception."""
        self._started = True
        machine = self._machine
        self._outside = machine.handled
        # suspended inside a handler, it still handles that exception
        if self._handled is not None:
            machine.handled = self._handled

    def leave(self) -> None:
        """Out of the machine again: the caller's handled exception is put back."""
        machine = self._machine
        saved = saved_exception(self.frame)
        self._handled = None if saved is None else saved.current
        machine.handled, self._outside = self._outside, None

    def reconstruct(self, generator: Tracker, writer: Writer) -> str:
        """Write a real generator: a new one if this has not begun, else a resume function advanced to its `yield`."""
        frame = self.frame
        if self._handled is not None:
            raise GraphBreak(GENERATOR, "a generator suspended inside an exception handler")
        if not self._started and not frame.stack:
            return self._write_unstarted(generator, writer)
        if self._started and frame.operation.kind is not Kind.YIELD:
            raise GraphBreak(GENERATOR, "a generator that delegates to another one")
        # the resume function begins at the `yield`, and the `next` that is written below sends None
        if self._started:
            frame.push(Constant(None))
        # one that has not begun goes on behind its start, where nothing sent is left on its stack
        at = frame.current if self._started else _index_behind_start(frame)
        layout = layout_of(frame, at)
        code = resume_function(frame.code, at, layout.native)
        values = [*values_in_slots(frame.stack), *(frame.locals[name] for name in layout.locals)]
        if self._started:
            frame.pop()
        return self._write_generator(
            generator, writer, code, [writer.value(value) for value in values], prime=self._started
        )

    def _write_unstarted(self, generator: Tracker, writer: Writer) -> str:
        code = self.frame.code
        arguments: list[str] = []
        names = code.co_varnames
        total = code.co_argcount + code.co_kwonlyargcount
        stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
        # a parameter that inner functions read has become a cell (MAKE_CELL)
        for position, name in enumerate(names[: total + stars]):
            cell = self.frame.cells.get(name)
            value = (
                cell.contents if cell is not None and name in code.co_cellvars else self.frame.locals[name]
            )
            assert value is not None
            text = writer.value(value)
            if position < code.co_argcount:
                arguments.append(text)
            elif position < total:
                arguments.append(f"{name}={text}")
            elif position == total and code.co_flags & inspect.CO_VARARGS:
                arguments.insert(code.co_argcount, f"*{text}")
            else:
                arguments.append(f"**{text}")
        return self._write_generator(generator, writer, code, arguments, prime=False)

    def _write_generator(
        self, generator: Tracker, writer: Writer, code: CodeType, arguments: list[str], *, prime: bool
    ) -> str:
        frame = self.frame
        names = code.co_freevars
        cells = "".join(f"{writer.value(cell_of(frame, name))}, " for name in names)
        make = writer.constant(FunctionType, "FunctionType")
        namespace = writer.constant(frame.namespace.value, "globals")
        function = f"{make}({writer.constant(code, 'generator')}, {namespace}, None, None, ({cells}))"
        name = writer.define(generator, f"{function}({', '.join(arguments)})", "generator")
        if prime:
            writer.statement(f"{writer.constant(next, 'next')}({name})")
        return name


def _index_behind_start(frame: Frame) -> int:
    """The operation that follows the `POP` of what is sent first."""
    operations = frame.reading.operations
    return next(at for at in range(frame.index, len(operations)) if operations[at].kind is Kind.POP) + 1


def has_user_handler(frame: Frame) -> bool:
    """Whether a handler of the user is in force; 3.12 has one of its own around each generator, and one around each
    `yield from`, which raises the exception again."""
    handlers, operations = frame.reading.handlers, frame.reading.operations
    handler = handlers[frame.current]
    if handler is not None and operations[handler.target].kind is Kind.CLEANUP_THROW:
        handler = handlers[handler.target]
    return handler is not None and operations[handler.target].kind is not Kind.INTRINSIC


def _converts_stop_iteration(frame: Frame) -> bool:
    """Whether the code itself makes RuntimeError of StopIteration (from 3.12), which it does not before its first
    instruction. Until 3.11 the generator's method did, wherever the generator was suspended."""
    operations = frame.reading.operations
    targets = {handler.target for handler in frame.reading.handlers if handler is not None}
    return any(operations[target].kind is Kind.INTRINSIC for target in targets)


def cell_of(frame: Frame, name: str) -> CellTracker:
    """The cell of a variable; an empty one when the frame has not made it."""
    return frame.cells.get(name) or CellTracker()
