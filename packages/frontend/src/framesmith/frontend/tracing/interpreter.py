"""The symbolic interpreter: fetch an operation, look up its row, step. It knows no single opcode.

It decides when a trace ends; how it ends is data (`trace_end`).
"""

import sys
from itertools import takewhile
from typing import TypeVar, final

from framesmith.bytecode.meaning import Handler, Kind
from framesmith.frontend.tracing.decomposed_generators import depth_of_real_generator
from framesmith.frontend.tracing.finalizers import check_left_variables, drop_references, variables_of
from framesmith.frontend.tracing.frame_roles import FrameRole
from framesmith.frontend.tracing.library_calls import depth_of_library_call
from framesmith.frontend.tracing.machine import MAXIMUM_FRAMES, Frame, Machine, is_stop_iteration, make_frame
from framesmith.frontend.tracing.opcodes.catalog import OPCODES
from framesmith.frontend.tracing.read_watch import show_reads
from framesmith.frontend.tracing.replanning import PlannedStop, Restart
from framesmith.frontend.tracing.trace_end import (
    BreakBefore,
    Finished,
    NativeEnd,
    ResumeHere,
    RunRestNatively,
    TraceEnd,
)
from framesmith.frontend.tracing.value_ends import check_lost_values, is_making_function, observe_changes
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import GENERATOR, NONDETERMINISTIC, RECURSION, UNSUPPORTED_VALUE
from framesmith.graph.breaks.errors import FakeFailure
from framesmith.graph.environment.postponed_signals import POSTPONED
from framesmith.guards.kinds import EqualTo, KeysAre, LengthIs
from framesmith.variables.callables.generators import Returned, Yielded, run_step
from framesmith.variables.callables.polyfill_functions import is_polyfill_code
from framesmith.variables.core import (
    Constant,
    ObservedException,
    PendingCall,
    PendingStep,
    TraceContext,
    Tracker,
)
from framesmith.variables.objects.exception_lines import exception_line
from framesmith.variables.objects.exceptions import ExceptionTracker, stop_value

# Runs inside runs (a key function of a modelled `sorted` ...) before the graph breaks. Each stands on CPython's own stack, of
# whose 1000 frames the caller has used a part: without a limit the user would see our RecursionError.
MAXIMUM_NESTING = 24
OurError = TypeVar("OurError", GraphBreak, ObservedException)
# Claims that a value which changes from call to call would fail (ADR 0010).
VALUES = (EqualTo, LengthIs, KeysAre)


def without_traceback(error: OurError, outside: BaseException | None) -> OurError:
    """Take the traceback from an exception of ours, and from those in its chain of contexts and causes; returns it.

    Frames in a traceback hold the trace, the user's values and exceptions in turn. The chain ends at `outside`, which
    the user's program was handling when the trace began.
    """
    todo: list[BaseException | None] = [error]
    while todo:
        one = todo.pop()
        if one is not None and one is not outside:
            todo += (one.__context__, one.__cause__)
            one.__traceback__ = one.__context__ = one.__cause__ = None
    return error


@final
class Interpreter:
    """Runs a stack of symbolic frames to their end or to the first operation that cannot be traced."""

    def __init__(self, stop: PlannedStop | None = None) -> None:
        self._stop = stop
        self._machine: Machine | None = None
        self._nesting = 0
        self._steps = 0
        self.last_error: ObservedException | None = None
        self._outside = sys.exception()  # what the user's program handles while this trace runs

    @property
    def machine(self) -> Machine:
        """The machine; `attach` comes first."""
        assert self._machine is not None
        return self._machine

    def attach(self, tx: TraceContext) -> Machine:
        """Make the machine; `tx` is the context whose inliner this interpreter is."""
        self._machine = Machine(tx, self.run_frame)
        observe_changes(self._machine)
        return self._machine

    def release(self) -> None:
        """The trace has ended: hold neither the machine nor an exception (ADR 0014)."""
        self._machine = None
        self.last_error = self._outside = None

    def repeatable_state(self) -> object:
        """The `FramesState` protocol: see `Machine.repeatable_state`."""
        return self.machine.repeatable_state()

    # -- nested runs: asked for by trackers --------------------------------------------------------
    def inline(self, pending: PendingCall) -> Tracker:
        """The `InlineCall` protocol: run the frame of a call to its end and return its result."""
        if isinstance(pending, PendingStep):
            return run_step(self.machine.tx, pending)
        try:
            outcome = self.run_frame(make_frame(pending), None)
        except ObservedException as error:
            if pending.otherwise is None or not is_stop_iteration(error):
                raise
            return pending.otherwise
        assert isinstance(outcome, Tracker)
        return outcome

    def run_frame(self, frame: Frame, raised: ObservedException | None) -> Tracker | Yielded | Returned:
        """Run one frame, and what it calls, until it has an outcome; with `raised`, it begins by raising.

        Raises ObservedException for an exception that leaves the frame. A GraphBreak goes through to the outermost run.
        """
        machine = self.machine
        if self._nesting >= MAXIMUM_NESTING or len(machine.frames) >= MAXIMUM_FRAMES:
            raise GraphBreak(RECURSION, f"{frame.code.co_qualname} at depth {len(machine.frames)}")
        frame.barrier = True
        machine.frames.append(frame)
        self._nesting += 1
        machine.value_ends.nested += 1
        # by which `run` sees that its operation ran frames in its midst
        machine.value_ends.runs += 1
        try:
            if raised is not None:
                self._unwind_inside(raised)
            while machine.outcome is None:
                if POSTPONED.pending:
                    POSTPONED.deliver()
                self._step()
        finally:
            self._nesting -= 1
            machine.value_ends.nested -= 1
        outcome, machine.outcome = machine.outcome, None
        return outcome

    def _step(self) -> None:
        """One operation of a nested run."""
        frame, readers = self.machine.frames[-1], self.machine.tx.changes.readers
        if readers:
            show_reads(frame, readers)
        try:
            self._execute(frame)
        except ObservedException as error:
            self._unwind_inside(error)

    def _execute(self, frame: Frame) -> None:
        """Fetch, look up, step."""
        index, machine = frame.index, self._machine
        assert machine is not None
        operation = frame.reading.operations[index]
        frame.current = index
        frame.index = index + 1
        calls = machine.tx.call_module
        if calls is not None and calls.noted:
            calls.see(frame.stack)
        OPCODES.steps[operation.kind](machine, operation)
        let_go = machine.tx.changes.let_go
        if let_go:
            values = let_go.copy()
            let_go.clear()
            drop_references(machine, values)

    # -- exceptions --------------------------------------------------------------------------------
    def _unwind_inside(self, error: ObservedException) -> None:
        """Unwind in a nested run; what the stacks held is dropped before an uncaught exception is raised outside."""
        caught, dropped = self._unwind(without_traceback(error, self._outside))
        drop_references(self.machine, dropped)
        if not caught:
            try:
                raise error
            finally:
                del error  # it holds this frame

    def _unwind(self, error: ObservedException) -> tuple[bool, list[Tracker]]:
        """Unwind the frames to the innermost handler, at most up to a barrier.

        Returns whether the exception was caught, also as the end of an iterator, and what the stacks let go of.
        """
        machine = self.machine
        dropped: list[Tracker] = []
        left: list[Tracker] = []
        self._set_implicit_context(error)
        while True:
            frame = machine.frames[-1]
            self._note_passage(error, frame)
            handler = frame.reading.handlers[frame.current]
            # from the top down, as CPython pops
            dropped += reversed(frame.stack[0 if handler is None else handler.depth :])
            if handler is not None:
                self._enter_handler(frame, handler, error.exception)
                break
            machine.frames.pop()
            # variables live on in the traceback, unless the exception is not kept
            (dropped if frame.closing else left).extend(variables_of(frame))
            self._leave_frame(error, frame)
            if frame.barrier:
                break
            if frame.role is not FrameRole.CALL and is_stop_iteration(error):
                dropped += machine.end_iteration(frame, self._stop_value(error, frame))
                check_left_variables(machine, left)
                return True, dropped
        check_left_variables(machine, left)
        return handler is not None, dropped

    def _stop_value(self, error: ObservedException, frame: Frame) -> Tracker:
        """What a StopIteration that leaves the frame gives the one around it: a value, where that is a `yield from`."""
        if frame.role is not FrameRole.DELEGATE:
            return Constant(None)
        return stop_value(self.machine.tx, error.exception)

    def _leave_frame(self, error: ObservedException, frame: Frame) -> None:
        """An exception leaves a frame. A generator ends with it, and its StopIteration becomes RuntimeError (PEP 479;
        3.12 has bytecode for that)."""
        generator, machine = frame.generator, self.machine
        if generator is None:
            return
        # what it held has been noted, and it holds nothing any more
        frame.stack.clear()
        frame.locals.clear()
        frame.cells.clear()
        # behind a barrier `SymbolicGenerator` does it, which began the run
        if not frame.barrier:
            generator.leave(machine.tx, ended=True)
        if is_stop_iteration(error):
            error.exception = machine.make_replacement(error.exception, "generator raised StopIteration")

    def _enter_handler(self, frame: Frame, handler: Handler, exception: Tracker) -> None:
        del frame.stack[handler.depth :]
        if handler.push_lasti:
            frame.push(Constant(frame.operation.instruction))
        frame.push(exception)
        frame.index = handler.target

    def _note_passage(self, error: ObservedException, frame: Frame) -> None:
        """Add the frame to the traceback of an exception that comes through it, except where it is only raised again."""
        exception = error.exception.realize()
        if not error.again and isinstance(exception, ExceptionTracker) and not is_polyfill_code(frame.code):
            exception.note_passage(self.machine.tx, frame.code, frame.operation.position)
        error.again = False

    def _set_implicit_context(self, error: ObservedException) -> None:
        """Implicit chaining (PEP 3134): the exception that is being handled becomes the context, once."""
        machine = self.machine
        if not error.chained:
            error.chained = True
            if machine.handled is not None:
                machine.chain_exceptions(error.exception, machine.handled)
            elif isinstance(exception := error.exception.realize(), ExceptionTracker):
                exception.follow_caller(machine.tx)

    def _is_caught(self, error: ObservedException) -> bool:
        """Whether some frame of the outermost run handles an exception raised now, also as the end of an iterator."""
        frames = self.machine.frames
        if any(frame.reading.handlers[frame.current] is not None for frame in frames):
            return True
        # a generator makes RuntimeError of it (PEP 479), so the frames around are not asked
        asked = takewhile(lambda frame: frame.generator is None, reversed(frames))
        return any(frame.role is not FrameRole.CALL for frame in asked) and is_stop_iteration(error)

    # -- the outermost run: here graph breaks are decided ------------------------------------------
    def run(self, raised: Tracker | None = None) -> TraceEnd:
        """Run the frames of the machine until the trace ends; with `raised`, they begin by raising it.

        Raises Restart where the trace has to be made again, GraphBreak where the whole function has to run natively.
        """
        machine = self.machine
        if raised is not None:
            error = ObservedException(raised)
            # raised before: its context is set, and its traceback names this frame
            error.chained = error.again = True
            if not self._is_caught(error):
                return RunRestNatively(None, raised, exception_line(raised))
            _, dropped = self._unwind(error)
            if (ended := self._drop_unwound(dropped)) is not None:
                return ended
        ends = machine.value_ends
        while machine.outcome is None:
            if POSTPONED.pending:
                POSTPONED.deliver()
            frame, runs = machine.frames[-1], ends.runs
            end = self._guarded_step()
            # not behind the last return: the entry ends there anyway, and what only it holds ends with it
            if end is None and (ends.held or ends.reason is not None) and machine.outcome is None:
                end = self._end_at_lost_value(frame, ends.runs != runs)
            if end is not None:
                return self._end_where_resumable(end)
        outcome = machine.outcome
        assert isinstance(outcome, Tracker)
        return Finished(outcome)

    def _end_at_lost_value(self, frame: Frame, has_nested: bool) -> ResumeHere | None:
        """The end of the trace here, if the operation let go of a value whose end is seen; else None.

        If the operation ran frames in its midst, it is not known when it let go, and if it took several out of one container,
        in which order: Restart, and it runs natively.
        """
        if is_making_function(self.machine) or not check_lost_values(self.machine):
            return None
        reason = self.machine.value_ends.reason
        assert reason is not None
        if has_nested or sum(one.is_inside for one in self.machine.value_ends.let_go) > 1:
            raise Restart(PlannedStop(self._steps, frame.code, frame.current, BreakBefore(reason)))
        self._restart_before_ends(frame, reason)
        return ResumeHere(reason)

    def _restart_before_ends(self, frame: Frame, reason: GraphBreak) -> None:
        """Raise Restart, so that the trace ends before an operation that lets go of several values in an unknown order: the next entry
        finds what the trace made as real objects. Not where it begins with the operation; a frame that returns runs natively."""
        is_unknown, self.machine.value_ends.is_order_unknown = self.machine.value_ends.is_order_unknown, False
        if is_unknown and self._steps > 1 and frame.reading.operations[frame.current].kind is not Kind.RETURN:
            raise Restart(PlannedStop(self._steps, frame.code, frame.current, ResumeHere(reason)))

    def _end_where_resumable(self, end: NativeEnd | ResumeHere) -> NativeEnd | ResumeHere:
        """The end of the trace, if the frames are to be left there. The frame of a generator that has to be a real object
        cannot (ADR 0009), a call of the standard library runs natively as a whole: Restart, to stop before the step that
        entered it; GraphBreak if it ran from the start."""
        depth = depth_of_real_generator(self.machine)
        if depth is None and isinstance(end, BreakBefore | ResumeHere):
            depth = depth_of_library_call(self.machine)
        if depth is None:
            return end
        inner, outer = self.machine.frames[depth], self.machine.frames[depth - 1]
        if not inner.entered:
            raise GraphBreak(GENERATOR, "a running generator that something else holds as well")
        made = self.machine.value_ends.references != inner.referenced
        raise Restart(PlannedStop(inner.entered, outer.code, outer.current, _end_for_outer_frame(end, made)))

    def _guarded_step(self) -> NativeEnd | ResumeHere | None:
        """Run one operation. If it cannot be traced, put the frame back as it was and return the end of the trace.

        Raises Restart where that is not enough: the operation changed something, or read values, before it failed.
        """
        machine = self._machine
        assert machine is not None
        tx = machine.tx
        frame = machine.frames[-1]
        self._steps += 1
        tx.graph.step = self._steps
        if self._stop is not None and self._steps == self._stop.step:
            return self._stop_as_planned(frame)
        own: ObservedException | None = None
        # what the operation may change, to be compared and put back if it fails
        known, operations, decisions = len(tx.guards.items), tx.graph.body.operations, len(tx.graph.decided)
        references = machine.value_ends.references
        stack, depth, handled = frame.stack.copy(), len(machine.frames), machine.handled
        # as `_change_versions` gives it: this is done before each operation
        state = tx.changes.version, tx.changes.ambient.version, operations
        try:
            self._execute(frame)
            if len(machine.frames) > depth:
                for entered in machine.frames[depth:]:
                    # a second trace stops there if this frame cannot be left (ADR 0009)
                    entered.entered = self._steps
                    entered.recorded, entered.referenced = state[2], references
            return None
        except ObservedException as error:
            if self._is_caught(error):  # no break: the handler is traced as CPython would enter it
                return self._enter_handler_or_restart(without_traceback(error, self._outside), frame)
            end: NativeEnd = RunRestNatively(None, uncaught=exception_line(error.exception))
            own = self._find_error_of_frame(without_traceback(error, self._outside), frame)
        except GraphBreak as reason:
            self._restart_before_ends(frame, without_traceback(reason, self._outside))
            made = machine.value_ends.references != references
            end = BreakBefore(without_traceback(reason, self._outside), makes_weak_references=made)
        except FakeFailure as failure:
            end = BreakBefore(GraphBreak(UNSUPPORTED_VALUE, str(failure)))
        except RecursionError:
            # It struck anywhere in the operation: nothing of this trace is kept, and the next one does not try it.
            end = BreakBefore(GraphBreak(RECURSION, f"an operation of {frame.code.co_qualname}"))
            raise Restart(PlannedStop(self._steps, frame.code, frame.current, end)) from None
        # frames that the operation had pushed before it failed
        del machine.frames[depth:]
        machine.outcome = None
        if self._change_versions() != state or (
            end.reason is not None and not tx.changes.keeps_reads and self._has_read_values(known, decisions)
        ):
            # Changes cannot be undone: the entry would replay them, and the operation, which runs natively, would make
            # them again. Guards on what it read would be needless: natively it takes any value (ADR 0010).
            raise Restart(PlannedStop(self._steps, frame.code, frame.current, end))
        # the operation popped its operands: the exit writes it from the stack before it
        frame.stack[:] = stack
        frame.index = frame.current
        machine.handled = handled
        if own is not None:
            self._set_implicit_context(own)
            self._note_passage(own, frame)
            return RunRestNatively(None, own.exception, exception_line(own.exception))
        return end

    def _has_read_values(self, known: int, decisions: int) -> bool:
        """Whether guards on values were added since `known`: an operation that runs natively takes any value."""
        return len(self.machine.tx.graph.decided) != decisions or any(
            isinstance(guard.claim, VALUES) for guard in self.machine.tx.guards.added_since(known)
        )

    def _find_error_of_frame(self, error: ObservedException, frame: Frame) -> ObservedException | None:
        """The exception, if it is about an unbound variable of this frame, or about what `super()` found in it; it is
        handed over then. Raised natively it would be another: in a continuation, variables with cells are free variables,
        for which it is a NameError, and the first slot may hold something else."""
        is_about_it = error.of_frame or issubclass(error.exception.python_type, UnboundLocalError)
        return error if is_about_it and self.machine.frames[-1] is frame else None

    def _enter_handler_or_restart(self, error: ObservedException, frame: Frame) -> ResumeHere | None:
        """Unwind. If that cannot be traced: Restart, and the frames run natively from the operation that raised."""
        try:
            _, dropped = self._unwind(error)
            return self._drop_unwound(dropped)
        except GraphBreak as reason:
            end = RunRestNatively(without_traceback(reason, self._outside))
            raise Restart(PlannedStop(self._steps, frame.code, frame.current, end)) from None

    def _drop_unwound(self, dropped: list[Tracker]) -> ResumeHere | None:
        """Drop what an exception took off the stacks. Returns the end of the trace here, if something has to be dropped
        for real: it is freed as the entry ends."""
        state = self._change_versions()
        try:
            drop_references(self.machine, dropped)
        except GraphBreak as reason:
            # what closing has changed would be done once more by dropping it for real
            if self._change_versions() == state:
                return ResumeHere(without_traceback(reason, self._outside))
            raise
        reason_here = self.machine.value_ends.reason
        return None if reason_here is None else ResumeHere(reason_here)

    def _change_versions(self) -> tuple[int, int, int]:
        """Versions of the changes made so far: equal before and after an operation that changed nothing."""
        tx = self.machine.tx
        return tx.changes.version, tx.changes.ambient.version, tx.graph.operations

    def _stop_as_planned(self, frame: Frame) -> NativeEnd | ResumeHere:
        stop = self._stop
        assert stop is not None
        # its operation does not run: the end is written for the one that is next
        frame.current = frame.index
        if stop.code is not None and (frame.code is not stop.code or frame.index != stop.operation):
            raise GraphBreak(
                NONDETERMINISTIC,
                f"the second trace of {stop.code.co_qualname} went another way than the first",
            )
        return stop.end


def _end_for_outer_frame(end: NativeEnd | ResumeHere, made: bool) -> NativeEnd:
    """The end for the operation of an outer frame that had led to this one: it runs natively, with all it leads to. `made`: that was
    seen to make weak references.

    An exception that nothing handles (there is no break then) comes out of it natively as well.
    """
    if isinstance(end, RunRestNatively) and end.reason is None:
        return RunRestNatively(None, uncaught=end.uncaught)
    assert end.reason is not None
    return BreakBefore(end.reason, made)
