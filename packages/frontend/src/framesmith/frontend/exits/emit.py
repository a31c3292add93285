"""How an entry ends, as source lines: return a value, or run one operation natively and resume in a continuation."""

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import BuiltinFunctionType, FunctionType
from typing import Final, Protocol, final

from framesmith.bytecode.operation_effects import slots_taken
from framesmith.bytecode.resume import Slot
from framesmith.frontend.exits.stand_ins import names_its_caller, stand_in_for
from framesmith.frontend.exits.weakly_held import WeaklyHeld
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.generated.tail_calls import TailCall, after_raising, raise_again
from framesmith.frontend.tracing.finalizers import finalizable_with, is_borrowed, variables_of
from framesmith.frontend.tracing.frame_layout import FrameLayout, Keeps, chain_layouts, layout_of
from framesmith.frontend.tracing.machine import Frame, Machine
from framesmith.frontend.tracing.opcodes.table import NativeForm, Outcome, native_of
from framesmith.frontend.tracing.resume_points import (
    FrameSnapshot,
    ResumePoint,
    decomposed_generators,
    handed_over,
    holds_pending_cleanup,
    take_snapshot,
)
from framesmith.frontend.tracing.stop_iteration import FrameRole
from framesmith.frontend.tracing.user_stack import location
from framesmith.graph import GraphBreak
from framesmith.graph.break_kinds import GENERATOR, INTROSPECTION
from framesmith.graph.failures import Replay
from framesmith.variables.callables.generators import GeneratorTracker
from framesmith.variables.callables.polyfill_functions import is_polyfill_code
from framesmith.variables.core import Lazy, Null, Tracker
from framesmith.variables.core.builtin_methods import BoundBuiltin
from framesmith.variables.objects.exception_chains import restored
from framesmith.variables.objects.tracebacks import Passage
from framesmith.variables.tensors.tensor_methods import TensorMethod

RAISED = "__fs_e"
FRAME_READERS: Final = frozenset(
    {
        locals,
        vars,
        breakpoint,
        dir,
        eval,
        exec,
        globals,
        sys._getframe,
        inspect.currentframe,
        inspect.stack,
        inspect.trace,
    }
)


class Ways(Protocol):
    """Writes the tail call with which an entry ends. `values` are expressions in the order of `point.names`."""

    def go_on(
        self,
        writer: EntryWriter,
        point: ResumePoint,
        namespaces: list[dict[str, object]],
        values: Sequence[str],
    ) -> str:
        """The expression of a tail call of the compiled continuation at `point`."""
        ...

    def go_natively(
        self,
        writer: EntryWriter,
        point: ResumePoint,
        namespaces: list[dict[str, object]],
        values: Sequence[str],
    ) -> str:
        """The expression of a tail call that runs the frames of `point` natively to their end."""
        ...


def tail_call_text(writer: EntryWriter, function: str, arguments: Sequence[str]) -> str:
    """The expression of a tail call: `TailCall((function, (arguments)))`."""
    listed = "".join(f"{argument}, " for argument in arguments)
    return f"{writer.constant(TailCall, 'TailCall')}(({function}, ({listed})))"


@final
class Exit:
    """Writes the end of one entry.

    `others`: trackers that are needed as objects, so that no generator which they lead to is handed over decomposed.
    `replay` is given where the entry ends before an operation that raised in a graph (ADR 0015).
    """

    def __init__(
        self,
        writer: EntryWriter,
        machine: Machine,
        ways: Ways,
        others: Sequence[Tracker],
        replay: Replay | None = None,
    ) -> None:
        self._writer = writer
        self._replay = replay
        self._machine = machine
        self._ways = ways
        self._decomposed = decomposed_generators(machine, others)
        self._weakly_held = WeaklyHeld(machine, writer)

    def carries(self, generator: GeneratorTracker) -> bool:
        """Whether a generator is handed over decomposed."""
        return id(generator) in self._decomposed

    def check(self) -> None:
        """Raise GraphBreak if a decomposed generator was built as an object as well: it would exist twice."""
        for generator in self._machine.generators:
            if self.carries(generator) and self._writer.made(generator) is not None:
                raise GraphBreak(GENERATOR, "a generator that something else holds as well")

    def finished(self, value: Tracker) -> list[str]:
        """The line that returns a value."""
        return [f"return {self._writer.value(value)}"]

    def to_the_end(self, raised: Tracker | None = None) -> list[str]:
        """Tail call of the native continuation, which runs the frames from the current operation to their end.

        With `raised`, it begins by raising this exception there.
        """
        frames = self._machine.frames
        keeps = self._weakly_held.keeps
        layouts = [
            *chain_layouts(frames, keeps),
            layout_of(frames[-1], frames[-1].current, keeps=keeps),
        ]
        snapshot = self._take_snapshot(layouts, frames, raises=raised is not None)
        values = self._state(snapshot)
        values += [] if raised is None else [self._writer.value(raised)]
        return [
            f"return {self._ways.go_natively(self._writer, snapshot.point, namespaces(snapshot), values)}"
        ]

    def here(self) -> list[str]:
        """Resume at the next operation, none runs natively: what the frames no longer hold is freed in between."""
        frames = self._machine.frames
        keeps = self._weakly_held.keeps
        layouts = [*chain_layouts(frames, keeps), layout_of(frames[-1], frames[-1].index, keeps=keeps)]
        snapshot = self._take_snapshot(layouts, frames)
        return [f"return {self._go_on(snapshot, self._state(snapshot))}"]

    def natively(self, *, refers: bool = False) -> list[str]:
        """Run the current operation of the innermost frame natively, then resume behind it or in a handler.

        The frames run natively to their end where the operation has no native form, reads its frame, or may raise
        through frames with finalizable variables. `refers`: the operation makes weak references. Raises GraphBreak
        where it reads the frames that called it and one of them is inlined.
        """
        frame = self._machine.frame
        row = native_of(frame.operation.kind)
        if row is None:  # only its whole frame can run natively
            return self.to_the_end()
        writer = self._writer
        taken = slots_taken(frame.operation)
        operands = frame.pop_many(taken)
        looks = any(looks_at_frame(value) for value in operands[:2])
        if looks and len(self._machine.frames) > 1:  # the whole function runs natively then (ADR 0016)
            raise GraphBreak(
                INTROSPECTION,
                f"{frame.code.co_qualname} looks at the frames that called it, which have to be real",
            )
        if looks or self._has_observable_variables():
            frame.stack += operands  # the operation runs in the real frame, with its operands on the stack
            return self.to_the_end()
        self._weakly_held.take(operands, refers)
        texts = self._unbound(operands) or []
        texts += [
            None if isinstance(value, Null) else self._operand(value) for value in operands[len(texts) :]
        ]
        inlined = self._machine.frames[1:]
        for index, value in enumerate(operands[:2]) if inlined else ():
            if not isinstance(value, Null) and names_its_caller(value):  # ADR 0016
                stands = writer.constant(stand_in_for(inlined), "stands_for")
                texts[index] = f"{writer.constant(partial, 'partial')}({stands}, {texts[index]})"
        form = row(frame.operation, texts, writer.constant)
        statements = list(form.statements)
        if self._replay is not None and statements:
            # an operation that may have done a part in the graph raises what it raised there instead (ADR 0015)
            self._replay.asks = True
            statements.insert(0, f"{writer.constant(self._replay.raise_given, 'raise_given')}()")
        lines = self._inside_handler(statements)
        if form.statements and (len(self._machine.frames) > 1 or self._has_handler() or self._has_stack()):
            lines = wrap_in_try(lines, self._raised_lines())
        return [*lines, *self._outcome_lines(form)]

    def _unbound(self, operands: Sequence[Tracker]) -> list[str | None] | None:
        """Descriptor and receiver of a method that is called at once (`x.sin()`), which CPython does not bind.

        They take the first two slots of the call, so that errors have CPython's text. None for any other operation.
        """
        for callee, other in (operands[:2], operands[1::-1]) if len(operands) > 1 else ():
            if isinstance(callee, TensorMethod | BoundBuiltin) and isinstance(other, Null):
                unbound = callee.unbound()
                if unbound is not None:
                    descriptor, receiver = unbound
                    return [self._writer.constant(descriptor, "method"), self._operand(receiver)]
        return None

    def _operand(self, value: Tracker) -> str:
        """An operand as a name or literal, so that it is evaluated once."""
        return self._writer.value(value)

    def _has_handler(self) -> bool:
        return any(self._sees_exception(frame) for frame in self._machine.frames)

    def _has_stack(self) -> bool:
        """Whether an exception that leaves a frame drops values of its stack: that may be seen, as a generator is closed."""
        return any(frame.stack for frame in self._machine.frames)

    def _has_observable_variables(self) -> bool:
        """Whether an exception that an outer frame catches would leave frames with finalizable variables.

        Its traceback keeps these variables alive, which needs the real frames.
        """
        frames = self._machine.frames
        wrap_in_try = [
            depth for depth, frame in enumerate(frames) if frame.reading.handlers[frame.current] is not None
        ]
        left = frames[wrap_in_try[-1] + 1 :] if wrap_in_try else []
        return any(finalizable_with(self._machine, variables_of(frame)) for frame in left)

    def _kept(self) -> str:
        """A tuple of the frames' variables that were built as objects: a traceback keeps them alive."""
        held = [value for frame in self._machine.frames for value in variables_of(frame)]
        made = dict.fromkeys(text for value in held if (text := self._writer.made(value)) is not None)
        return f"({''.join(f'{text}, ' for text in made)})"

    def _outcome_lines(self, form: NativeForm) -> list[str]:
        """A return statement for each outcome of the operation, under its condition."""
        lines: list[str] = []
        for outcome in form.outcomes:
            statement = self._outcome(outcome)
            if outcome.condition is None:
                lines.append(statement)
            else:
                lines += [f"if {outcome.condition}:", f"    {statement}"]
        return lines

    def _outcome(self, outcome: Outcome) -> str:
        frames = self._machine.frames
        frame = frames[-1]
        index = frame.current + 1 if outcome.target is None else outcome.target
        keeps = self._weakly_held.keeps
        layout = layout_of(frame, index, keeps=keeps)
        slots = tuple(Slot.NULL if text == "" else Slot.VALUE for text in outcome.pushes)
        layout = replace(layout, stack=(*layout.stack, *slots))
        snapshot = self._take_snapshot([*chain_layouts(frames, keeps), layout], frames)
        return f"return {self._go_on(snapshot, self._state(snapshot, [text for text in outcome.pushes if text]))}"

    def _take_snapshot(
        self, layouts: Sequence[FrameLayout], frames: Sequence[Frame], *, raises: bool = False
    ) -> FrameSnapshot:
        """A snapshot of these frames; its point also says what is borrowed and whether weak references were made."""
        snapshot = take_snapshot(layouts, frames, self._decomposed, self._weakly_held.keeps, raises=raises)
        borrowed = [
            position
            for position, value in enumerate(handed_over(snapshot))
            if value is not None and is_borrowed(self._machine, value)
        ]
        watched = self._machine.ends.watched
        return replace(snapshot, point=replace(snapshot.point, watched=watched, borrowed=tuple(borrowed)))

    def _go_on(self, snapshot: FrameSnapshot, values: list[str]) -> str:
        return self._ways.go_on(self._writer, snapshot.point, namespaces(snapshot), values)

    def _state(self, snapshot: FrameSnapshot, pushed: Sequence[str] = ()) -> list[str]:
        """Expressions for the values of all frames; `pushed` are what the operation pushes on the innermost stack."""
        text: Callable[[Tracker], str] = self._writer.value
        new = iter(pushed)
        return [next(new) if value is None else text(value) for value in handed_over(snapshot)]

    def _raised_lines(self) -> list[str]:
        """Pass on what the operation raised: resume in the innermost frame that does more than pass it on.

        If there is none, the exception is raised to the caller. The traceback names each frame on the way but polyfills.
        """
        frames = self._machine.frames
        depth = len(frames)  # frames further in only pass the exception on, and are left
        while depth and not self._sees_exception(frames[depth - 1]):
            depth -= 1
        passed = [
            frame for frame in reversed(frames[max(depth - 1, 0) :]) if not is_polyfill_code(frame.code)
        ]
        places = tuple((frame.code, location(frame)[1]) for frame in passed)
        note = f"{self._writer.constant(Passage(places, native=True), 'passage')}({RAISED})"
        if not depth:
            again = tail_call_text(
                self._writer, self._writer.constant(raise_again, "raise"), [RAISED, self._kept()]
            )
            return [note, f"return {again}"]
        keeps = self._weakly_held.keeps
        layouts = [*chain_layouts(frames[:depth], keeps), raising_layout(frames[depth - 1], keeps)]
        snapshot = self._take_snapshot(layouts, frames[:depth], raises=True)
        onward = self._go_on(snapshot, [*self._state(snapshot), RAISED])
        # our ended frames, to which the traceback leads, are cleared before the continuation begins
        settled = tail_call_text(
            self._writer, self._writer.constant(after_raising, "after_raising"), [RAISED, onward]
        )
        return [note, f"return {settled}"]

    def _sees_exception(self, frame: Frame) -> bool:
        """Whether the frame does more than pass on an exception of its current operation: it may catch it, take it for
        the end of an iterator, end a generator, or drop a decomposed one that has pending cleanup."""
        if frame.reading.handlers[frame.current] is not None or frame.role is not FrameRole.CALL:
            return True
        return frame.generator is not None or holds_pending_cleanup(
            frame, self._decomposed, self._machine.generators
        )

    def _inside_handler(self, lines: list[str]) -> list[str]:
        """The lines, run while the exception that the frames handle is the one that CPython handles.

        To make it that it is raised again, so its traceback and context are put back as they were.
        """
        handled = self._machine.handled
        if handled is None:
            return lines
        writer = self._writer
        name = writer.value(handled)
        restore = writer.constant(restored, "restored")
        kept = writer.name("kept")
        return [
            f"{kept} = ({name}.__traceback__, {name}.__context__)",
            "try:",
            f"    raise {name}",
            "except BaseException:",
            f"    {restore}({name}, {kept})",
            *(f"    {line}" for line in lines),
        ]


def looks_at_frame(value: Tracker) -> bool:
    """Whether a value is a function that reads the frame which calls it: that frame has to be the user's."""
    if isinstance(value, Lazy):
        found = value.peek
    else:
        found = value.as_python_constant() if value.is_python_constant() else None
    return issubclass(type(found), BuiltinFunctionType | FunctionType) and found in FRAME_READERS


def raising_layout(frame: Frame, keeps: Keeps) -> FrameLayout:
    """The layout of a frame whose current operation raises: what its handler may read is live."""
    handler = frame.reading.handlers[frame.current]
    index = frame.current if handler is None else handler.target
    return layout_of(frame, frame.current, index, keeps)


def namespaces(snapshot: FrameSnapshot) -> list[dict[str, object]]:
    """The globals of each frame."""
    return [frame.namespace.value for frame in snapshot.frames]


def wrap_in_try(lines: list[str], handler: list[str]) -> list[str]:
    """The lines in a `try`, then `handler` for when one raised: behind the `except`, where nothing is being handled."""
    return [
        f"{RAISED} = None",
        "try:",
        *(f"    {line}" for line in lines),
        f"except BaseException as {RAISED}x:",
        f"    {RAISED} = {RAISED}x",
        f"if {RAISED} is not None:",
        *(f"    {line}" for line in handler),
    ]
