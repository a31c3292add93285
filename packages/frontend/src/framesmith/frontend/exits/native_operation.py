"""The operation at a break, as source lines: it runs natively, and the frames resume behind it or in a handler.

What is handed over behind it: `exits.resumption`. How a kind of operation is written: its row in `tracing.opcodes`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, final

from framesmith.bytecode.operation_effects import slots_taken
from framesmith.frontend.exits.named_callers import names_its_caller, synthetic_frame_for
from framesmith.frontend.exits.number_reads import METHODS, find_number_read, write_number_read
from framesmith.frontend.exits.resumption import Resumption
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.generated.tail_calls import continue_after_raising, raise_again
from framesmith.frontend.tracing.finalizers import find_finalizable, is_owned, runs_finalizer, variables_of
from framesmith.frontend.tracing.frame_readers import reads_frame
from framesmith.frontend.tracing.frame_roles import FrameRole
from framesmith.frontend.tracing.library_calls import CALLS
from framesmith.frontend.tracing.machine import Frame, Machine
from framesmith.frontend.tracing.opcodes.catalog import OPCODES
from framesmith.frontend.tracing.opcodes.table import Bind, NativeForm, NativeWriter
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import INTROSPECTION
from framesmith.graph.running.failures import Replay
from framesmith.guards.names import PREFIX
from framesmith.variables.callables.cached_functions import finish_call, has_broken
from framesmith.variables.callables.generators import GeneratorTracker
from framesmith.variables.callables.polyfill_functions import is_polyfill_code
from framesmith.variables.core import Lazy, Null, Tracker
from framesmith.variables.core.builtin_methods import BoundBuiltin
from framesmith.variables.core.reach import reachable
from framesmith.variables.objects.exception_chains import restore_exception
from framesmith.variables.objects.tracebacks import Passage
from framesmith.variables.tensors.tensor_methods import TensorMethod

_RAISED: Final = f"{PREFIX}e"


@final
class NativeOperation:
    """Writes the current operation of the innermost frame.

    `replay` is given where the entry ends before an operation that raised in a graph (ADR 0015).
    """

    def __init__(
        self, writer: EntryWriter, machine: Machine, resumption: Resumption, replay: Replay | None
    ) -> None:
        self._writer = writer
        self._machine = machine
        self._resumption = resumption
        self._replay = replay

    def write(self, *, makes_weak_references: bool) -> list[str]:
        """Run the operation natively, then resume behind it or in a handler.

        The frames run natively to their end where the operation has no native form, reads its frame, or may raise
        through frames with finalizable variables; they resume before it where this entry must not hold what its
        operands hold. Raises GraphBreak where it reads the frames that called it and one of
        them is inlined.
        """
        frame = self._machine.frame
        row = OPCODES.natives.get(frame.operation.kind)
        if row is None:
            # no Python source does what the operation does: its whole frame runs natively (ADR 0005)
            return self._rest_natively()
        operands = frame.pop_many(slots_taken(frame.operation))
        # the callable of a call is in one of the first two slots: NULL comes before it, from 3.13 on behind it
        looks = any(reads_frame(value) for value in operands[:2])
        if looks and len(self._machine.frames) > 1:  # the whole function runs natively then (ADR 0016)
            raise GraphBreak(
                INTROSPECTION,
                f"{frame.code.co_qualname} looks at the frames that called it, which have to be real",
            )
        if looks or self._has_observable_variables():
            # a traceback has to hold real frames where the program sees when their variables end
            frame.stack += operands  # the operation runs in the real frame, with its operands on the stack
            return self._rest_natively()
        if self._would_be_held(operands):
            frame.stack += operands
            return [f"return {self._resumption.resume_here()}"]
        # before the tail calls are written, whose layouts depend on it
        self._resumption.note_operands(operands, makes_weak_references)
        form = self._make_form(row, operands)
        lines = self._wrap_in_handler(self._make_statements(form))
        # without handlers, inner frames and values on the stack, an exception may leave the entry as it is
        if form.statements and (len(self._machine.frames) > 1 or self._has_handler() or self._has_stack()):
            lines = wrap_in_try(
                lines, self._raised_lines(operands), self._writer.constant(BaseException, "anything")
            )
        return [*lines, *self._outcome_lines(form)]

    def _rest_natively(self) -> list[str]:
        # a handler sees the exception in real frames only; without one it may leave the entry as it is
        asking = [] if self._has_handler() else self._ask_for_exception()
        return [*asking, f"return {self._resumption.run_rest_natively()}"]

    def _ask_for_exception(self) -> list[str]:
        """The line by which an operation that may have done a part in the graph raises what it raised there (ADR 0015)."""
        if self._replay is None:
            return []
        self._replay.asks = True
        return [f"{self._writer.constant(self._replay.raise_given, 'raise_given')}()"]

    # -- the operation -----------------------------------------------------------------------------
    def _make_form(self, write: NativeWriter, operands: Sequence[Tracker]) -> NativeForm:
        """The operation as source, its operands as names or literals, so that each is evaluated once."""
        writer = self._writer
        inlined, operation = self._machine.frames[1:], self._machine.frame.operation
        read = find_number_read(operation.kind, operands)
        texts = self._write_unbound_method(operands) or []
        for place, value in list(enumerate(operands))[len(texts) :]:
            text = None if isinstance(value, Null) else self._write_operand(value, is_read=place == read)
            texts.append(text)
        if operation.kind in CALLS:
            callee = 1 if isinstance(operands[0], Null) else 0
            function = operands[callee].realize()
            before = None
            if inlined and names_its_caller(function):  # ADR 0016
                before = writer.constant(synthetic_frame_for(inlined), "stands_for")
            # the trace has made this call: the program makes it once
            elif has_broken(function):
                before = writer.constant(finish_call, "finish_call")
            if before is not None:
                texts[callee] = f"{writer.constant(partial, 'partial')}({before}, {texts[callee]})"
        bind = Bind(writer.constant, self._machine, operands)
        return write(operation, texts, bind)

    def _write_operand(self, value: Tracker, *, is_read: bool) -> str:
        return (
            write_number_read(self._writer, self._machine.tx, value) if is_read else self._writer.value(value)
        )

    def _write_unbound_method(self, operands: Sequence[Tracker]) -> list[str | None] | None:
        """Descriptor and receiver of a method that is called at once (`x.sin()`), which CPython does not bind.

        They take the first two slots of the call, so that errors have CPython's text. None for any other operation.
        """
        # NULL is on either side, depending on the version
        for callee, other in (operands[:2], operands[1::-1]) if len(operands) > 1 else ():
            if isinstance(callee, TensorMethod | BoundBuiltin) and isinstance(other, Null):
                unbound = callee.unbound()
                # methods of a class itself are bound: `type` looks attributes up in a way of its own
                if unbound is not None and not issubclass(unbound[1].python_type, type):
                    descriptor, receiver = unbound
                    is_read = any(descriptor is one for one in METHODS)
                    return [
                        self._writer.constant(descriptor, "method"),
                        self._write_operand(receiver, is_read=is_read),
                    ]
        return None

    def _make_statements(self, form: NativeForm) -> list[str]:
        return [*(self._ask_for_exception() if form.statements else []), *form.statements]

    def _wrap_in_handler(self, lines: list[str]) -> list[str]:
        """The lines, run while the exception that the frames handle is the one that CPython handles.

        To make it that it is raised again, so its traceback and context are put back as they were.
        """
        handled = self._machine.handled
        if handled is None:
            return lines
        writer = self._writer
        name = writer.value(handled)
        restore = writer.constant(restore_exception, "restore_exception")
        kept = writer.name("kept")
        return [
            f"{kept} = ({name}.__traceback__, {name}.__context__)",
            "try:",
            f"    raise {name}",
            "except:",
            f"    {restore}({name}, {kept})",
            *(f"    {line}" for line in lines),
        ]

    def _outcome_lines(self, form: NativeForm) -> list[str]:
        """A return statement for each outcome of the operation, under its condition."""
        lines: list[str] = []
        for outcome in form.outcomes:
            statement = f"return {self._resumption.resume_after(outcome)}"
            if outcome.condition is None:
                lines.append(statement)
            else:
                lines += [f"if {outcome.condition}:", f"    {statement}"]
        return lines

    # -- what it raises ----------------------------------------------------------------------------
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
        catching = [
            depth for depth, frame in enumerate(frames) if frame.reading.handlers[frame.current] is not None
        ]
        left = frames[catching[-1] + 1 :] if catching else []
        return any(find_finalizable(self._machine, variables_of(frame)) for frame in left)

    def _would_be_held(self, operands: Sequence[Tracker]) -> bool:
        """Whether this entry would hold, by names of its own, what the operation may take out of an operand that was made or changed here,
        and whose end is seen: `generators.clear()`. The next entry finds that operand as an existing object, and holds nothing of it."""
        changes = self._machine.tx.changes
        read = [one.realize() for one in operands if not isinstance(one, Lazy) or one.is_realized]
        made = [one for one in read if one.source is None or changes.is_changed(one)]
        inside = reachable([part for operand in made for part in operand.known_children()])
        return any(
            runs_finalizer(one) and (isinstance(one, GeneratorTracker) or is_owned(self._machine, one))
            for one in inside.values()
        )

    def _sees_exception(self, frame: Frame) -> bool:
        """Whether the frame does more than pass on an exception of its current operation: it may catch it, take it for
        the end of an iterator, end a generator, or drop a decomposed one that has pending cleanup."""
        if frame.reading.handlers[frame.current] is not None or frame.role is not FrameRole.CALL:
            return True
        return frame.generator is not None or self._resumption.drops_cleanup(frame)

    def _raised_lines(self, operands: Sequence[Tracker]) -> list[str]:
        """Pass on what the operation raised: resume in the innermost frame that does more than pass it on.

        If there is none, the exception is raised to the caller. The traceback names each frame on the way but polyfills.
        """
        frames, calls = self._machine.frames, self._resumption.calls
        depth = len(frames)  # frames further in only pass the exception on, and are left
        while depth and not self._sees_exception(frames[depth - 1]):
            depth -= 1
        passed = [
            frame for frame in reversed(frames[max(depth - 1, 0) :]) if not is_polyfill_code(frame.code)
        ]
        places = tuple((frame.code, frame.operation.position) for frame in passed)
        note = f"{self._writer.constant(Passage(places, native=True), 'passage')}({_RAISED})"
        if not depth:
            return [
                note,
                f"return {calls.write_function_call(raise_again, 'raise', [_RAISED, self._write_variables()])}",
            ]
        with self._handler_operands_on_stack(operands):
            onward = self._resumption.resume_raising(depth, _RAISED)
        # our ended frames, to which the traceback leads, are cleared before the continuation begins
        settled = calls.write_function_call(
            continue_after_raising, "continue_after_raising", [_RAISED, onward]
        )
        return [note, f"return {settled}"]

    @contextmanager
    def _handler_operands_on_stack(self, operands: Sequence[Tracker]) -> Iterator[None]:
        """Put those operands back that the handler of the operation finds on the stack: what an inlined comprehension
        has built so far."""
        frame = self._machine.frame
        handler, bottom = frame.reading.handlers[frame.current], len(frame.stack)
        if handler is not None:
            frame.stack += operands[: max(handler.depth - bottom, 0)]
        yield
        del frame.stack[bottom:]

    def _write_variables(self) -> str:
        """A tuple of the frames' variables that were built as objects: a traceback keeps them alive."""
        held = [value for frame in self._machine.frames for value in variables_of(frame)]
        made = dict.fromkeys(
            text for value in held if (text := self._writer.find_variable(value)) is not None
        )
        return f"({''.join(f'{text}, ' for text in made)})"


def wrap_in_try(lines: list[str], handler: list[str], anything: str) -> list[str]:
    """The lines in a `try`, then `handler` for when one raised: behind the `except`, where nothing is being handled.

    `anything`: the name of BaseException in the text, where a global variable of the program may have its own.
    """
    return [
        f"{_RAISED} = None",
        "try:",
        *(f"    {line}" for line in lines),
        # another name, which CPython unbinds at the end of the handler
        f"except {anything} as {_RAISED}x:",
        f"    {_RAISED} = {_RAISED}x",
        f"if {_RAISED} is not None:",
        *(f"    {line}" for line in handler),
    ]
