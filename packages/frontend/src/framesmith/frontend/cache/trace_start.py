"""Where a trace starts: at the first instruction of a function, whose code may be replaced meanwhile, or at a resume point.

Each puts its frames into the machine, and writes how the same code runs natively. How a trace ends: `tracing/trace_end`.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import CellType, CodeType, FunctionType
from typing import Final, final

from framesmith.frontend.cache.method_definition import MethodDefinition, owner_of, owner_source
from framesmith.frontend.exits.ending import EntryEnding, ResumeTarget, TailCallWriter
from framesmith.frontend.generated.dispatcher import Signature
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.resuming.symbolic import rebuild_frames
from framesmith.frontend.tracing.machine import Machine, new_frame
from framesmith.guards import Guard, Reason, Scope, examine
from framesmith.guards.kinds import CodeIs, SameObject
from framesmith.guards.scope import Readable
from framesmith.guards.sources import Attribute, Item, Local, Own
from framesmith.variables.builtin_types.cells import wrap_cell
from framesmith.variables.builtin_types.namespaces import namespace_of
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.core.lazy import Lazy
from framesmith.variables.core.reach import reachable
from framesmith.variables.core.wrap_rules import lazy

#: What a compiled function has a copy of.
COPIED_ATTRIBUTES: Final = ("__defaults__", "__kwdefaults__")
#: Kinds of `Own` sources, beside the names above.
FUNCTION: Final = "function"
CELL: Final = "cell"
NEVER_COMPILED: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def _own_objects(function: FunctionType) -> dict[Own, object]:
    """What each of the functions that share an entry has of its own, by the source that stands for it in the entry."""
    own: dict[Own, object] = {Own(FUNCTION): function}
    own.update((Own(name), getattr(function, name)) for name in COPIED_ATTRIBUTES)
    own.update((Own(CELL, index), cell) for index, cell in enumerate(function.__closure__ or ()))
    return own


def make_scope(
    start: "FunctionStart | ContinuationStart", names: Sequence[str], values: Sequence[object]
) -> Scope:
    """Where the guards of a start read: the values of a call by parameter, and what the function has of its own."""
    own: dict[Readable, object] = {source: cell.cell_contents for source, cell in start.own.items()}
    return Scope(dict(zip(names, values, strict=True)), start.namespace, own=own)


def _outdated_guards(tx: TraceContext, machine: Machine, scope: Scope) -> Callable[[], frozenset[int]]:
    """What gives the guards of the trace that do not hold now, for the values with which it began. What the frames have read and
    not used yet is guarded first."""

    def find() -> frozenset[int]:
        held = [
            value
            for frame in machine.frames
            for value in (*frame.stack, *frame.locals.values(), *frame.cells.values())
        ]
        for value in reachable(held).values():
            # no code can put another object where an argument came from
            if isinstance(value, Lazy) and not isinstance(value.source, Local):
                value.realize()
        return frozenset(id(failure.guard) for failure in examine(tx.guards, scope).failures)

    return find


@final
class FunctionStart:
    """A function from its first instruction. With a `definition` it is a copy of the function there.

    Each entry guards the code that it was made from, so that replaced code is seen by the next call, and entries made
    from code that is put back serve again (ADR 0013).
    """

    def __init__(self, function: FunctionType, definition: MethodDefinition | None = None) -> None:
        self.function = function
        self.definition = definition
        self.code: CodeType = function.__code__
        self.namespace: dict[str, object] = function.__globals__
        self.closure: tuple[CellType, ...] | None = function.__closure__
        self.codes: tuple[CodeType, ...] = (self.code,)
        self.is_in_loop = False
        # in cells: bound entries have them as free variables, so replaced defaults reach all entries at once
        self.own = {source: CellType(value) for source, value in _own_objects(function).items()}
        # Fixed here, as the key of the shared entries is: one that was made while the defaults were taken away would
        # otherwise serve functions that have some, without a guard on them.
        self._watched = tuple(name for name in COPIED_ATTRIBUTES if getattr(function, name) is not None)

    def push_frames(self, tx: TraceContext, machine: Machine, values: Sequence[object]) -> Tracker | None:
        """Push the frame at its first instruction, its arguments wrapped but not read. There is nothing to raise."""
        self._guard_identity(tx, values)
        names = Signature.of_function(self.code).names
        tx.changes.find_outdated = _outdated_guards(tx, machine, make_scope(self, names, values))
        arguments = {name: lazy(tx, value, Local(name)) for name, value in zip(names, values, strict=True)}
        cells = tuple(
            wrap_cell(tx, cell, Own(CELL, index, name))
            for index, (name, cell) in enumerate(zip(self.code.co_freevars, self.closure or (), strict=True))
        )
        frame = new_frame(self.code, namespace_of(tx, self.namespace), arguments, cells)
        # what the outermost frame returns is the outcome of the run
        frame.barrier = True
        machine.frames.append(frame)
        return None

    def _guard_identity(self, tx: TraceContext, values: Sequence[object]) -> None:
        definition, asked = self.definition, "it is what was compiled"
        if definition is None:
            function = Own(FUNCTION, label=self.code.co_qualname)
            tx.guard(function, CodeIs(self.code), asked)
            for name in self._watched:
                held = SameObject(Attribute(function, name), Own(name, label=f"the copy of {name}"))
                tx.guards.add(Guard.relation(held, Reason("it was copied")))
            return
        definition.guard(tx, self.code, owner_of(self.code, values), asked)

    def copy_defaults(self) -> None:
        """The compiled function has the original's present defaults from now on, and its entries serve again."""
        for name in COPIED_ATTRIBUTES:
            self.own[Own(name)].cell_contents = getattr(self.function, name)

    def is_current(self, values: Sequence[object]) -> bool:
        """Whether a call with these values of the parameters still runs the code from which entries are made here."""
        if self.definition is None:
            return self.function.__code__ is self.code
        owner = owner_of(self.code, values)
        return self.definition.original.__code__ is self.code and self.definition.is_found_by(owner)

    def with_current_code(self) -> "FunctionStart | None":
        """The start of the code that the function has now; None where that code runs uncompiled.

        It does for a method, where the parameters are others than before, and for a generator or coroutine.
        """
        code = self.function.__code__
        now, before = Signature.of_function(code), Signature.of_function(self.code)
        if self.definition is not None or now.text != before.text or code.co_flags & NEVER_COMPILED:
            return None
        current = FunctionStart(self.function)
        current.own = self.own  # entries made from the former code are bound to these cells
        return current

    def write_native_ending(self, writer: EntryWriter) -> EntryEnding:
        """Call the user's function as it is."""
        return self.write_call(writer, self.function)

    def write_current_call(self, writer: EntryWriter) -> EntryEnding:
        """Call what a call would find now, which is another function than the compiled one."""
        if self.definition is None:
            return self.write_call(writer, self.function)
        source = owner_source(self.code)
        owner = (
            f"{writer.load(source.base)}[{source.key}]" if isinstance(source, Item) else writer.load(source)
        )
        return self.definition.write_call(writer, owner, self._write_arguments(writer))

    def write_call(self, writer: EntryWriter, function: FunctionType) -> EntryEnding:
        """Call a function with the parameters of the user's."""
        return EntryEnding(
            (f"return {writer.constant(function, 'original')}({', '.join(self._write_arguments(writer))})",)
        )

    def _write_arguments(self, writer: EntryWriter) -> list[str]:
        """The arguments of the call as texts, in the order of the parameters."""
        code = self.code
        names = list(Signature.of_function(code).names)
        loaded = {name: writer.load(Local(name)) for name in names}
        positional = code.co_argcount
        arguments = [loaded[name] for name in names[:positional]]
        keywords = [
            f"{name}={loaded[name]}" for name in names[positional : positional + code.co_kwonlyargcount]
        ]
        # as in `co_varnames`: behind all named parameters `*args`, then `**kwargs`
        rest = names[positional + code.co_kwonlyargcount :]
        if code.co_flags & inspect.CO_VARARGS:
            arguments.append(f"*{loaded[rest.pop(0)]}")
        if code.co_flags & inspect.CO_VARKEYWORDS:
            keywords.append(f"**{loaded[rest.pop(0)]}")
        return [*arguments, *keywords]


@final
class ContinuationStart:
    """A continuation: frames in mid-code (ADR 0005)."""

    def __init__(self, target: ResumeTarget) -> None:
        self.target = target
        # all that it works on is handed over as arguments
        self.own: dict[Own, CellType] = {}
        self.point = point = target.point
        # the outermost frame, whose name and lines the entry takes
        self.code: CodeType = point.frames[0].code
        self.namespace: dict[str, object] = target.namespaces[0]
        self.codes = tuple(frame.code for frame in point.frames)
        self.is_in_loop = point.is_in_loop

    def push_frames(self, tx: TraceContext, machine: Machine, values: Sequence[object]) -> Tracker | None:
        """Put the frames of the resume point into the machine; returns the exception to raise first, if any."""
        tx.changes.find_outdated = _outdated_guards(tx, machine, make_scope(self, self.point.names, values))
        return rebuild_frames(tx, machine, self.point, self.target.namespaces, list(values))

    def write_native_ending(self, writer: EntryWriter) -> EntryEnding:
        """Run the frames natively from the resume point."""
        calls = TailCallWriter(writer)
        state = self.point.form.map(lambda name: writer.load(Local(name)))
        return calls.make_ending([f"return {calls.write_call(replace(self.target, is_native=True), state)}"])
