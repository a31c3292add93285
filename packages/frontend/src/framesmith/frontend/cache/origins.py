"""What an entry is made for: a function from its start, whose code may be replaced meanwhile, or a continuation."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import CellType, CodeType, FunctionType
from typing import Final, final

from framesmith.frontend.exits.ending import EntryEnding, ResumeTarget, TailCallWriter
from framesmith.frontend.generated.dispatcher import Signature
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.resuming.symbolic import rebuild_frames
from framesmith.frontend.tracing.machine import Machine, new_frame
from framesmith.guards.class_lookup import class_name, static_lookup
from framesmith.guards.kinds import ClassAttribute, CodeIs, HasInstanceAttribute, Identical, TypeIs
from framesmith.guards.sources import Attribute, FunctionClosure, Local, Pinned
from framesmith.variables.builtin_types.cells import wrap_cell
from framesmith.variables.builtin_types.namespaces import namespace_of
from framesmith.variables.callables.compiled import is_compiled, original_of
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.core.wrap_rules import lazy
from framesmith.variables.nn.nn_modules import module_namespace

#: What a compiled function has a copy of.
COPIED: Final = ("__defaults__", "__kwdefaults__")
NOT_COMPILED: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@final
@dataclass(frozen=True, slots=True)
class Home:
    """The class attribute that a call of a compiled module or object would find: what was compiled is a copy of it, or of
    its original where the class is compiled as well.

    `is_own`: an attribute of the same name on the instance goes first, as `module._call_impl` does.
    """

    kind: type
    name: str
    original: FunctionType
    is_own: bool = False

    def has_original(self, owner: object) -> bool:
        """Whether a call finds what was compiled."""
        if self.is_own and self.name in module_namespace(owner):
            return False
        found = static_lookup(type(owner), self.name)
        if found is self.original:
            return True
        # A class that was compiled has a compiled copy of the same code there.
        return (
            isinstance(found, FunctionType)
            and is_compiled(found)
            and original_of(found).__code__ is self.original.__code__
        )


@final
class RootOrigin:
    """A function from its first instruction. With a `home` it is a copy of the function that lives there.

    Each entry guards the code that it was made from, so that replaced code is seen by the next call, and entries made
    from code that is put back serve again (ADR 0013).
    """

    def __init__(self, function: FunctionType, home: Home | None = None) -> None:
        self.function = function
        self.home = home
        self.code: CodeType = function.__code__
        self.namespace: dict[str, object] = function.__globals__
        self.closure: tuple[CellType, ...] | None = function.__closure__
        self.codes: tuple[CodeType, ...] = (self.code,)
        self.is_in_loop = False

    def build(self, tx: TraceContext, machine: Machine, values: Sequence[object]) -> Tracker | None:
        """Push the frame at its first instruction, its arguments wrapped but not read. There is nothing to raise."""
        anchor = Pinned(self.function, self.function.__qualname__)
        self._guard_identity(tx, anchor)
        names = Signature.of_function(self.code).names
        arguments = {name: lazy(tx, value, Local(name)) for name, value in zip(names, values, strict=True)}
        cells = tuple(
            wrap_cell(tx, cell, FunctionClosure(anchor, index))
            for index, cell in enumerate(self.closure or ())
        )
        frame = new_frame(self.code, namespace_of(tx, self.namespace), arguments, cells)
        frame.barrier = True
        machine.frames.append(frame)
        return None

    def _guard_identity(self, tx: TraceContext, anchor: Pinned) -> None:
        home, asked = self.home, "it is what was compiled"
        if home is None:
            tx.guard(anchor, CodeIs(self.code), asked)
            for name in COPIED:
                held = getattr(self.function, name)
                if held is not None:
                    tx.guard(Attribute(anchor, name), Identical(held), "it was copied")
            return
        tx.guard(
            Pinned(home.kind, class_name(home.kind)),
            ClassAttribute(home.name, static_lookup(home.kind, home.name)),
            asked,
        )
        tx.guard(Pinned(home.original, home.name), CodeIs(self.code), asked)
        if home.is_own:
            owner = Local(self.code.co_varnames[0])
            tx.guard(owner, TypeIs(home.kind), asked)
            tx.guard(owner, HasInstanceAttribute(home.name, False), asked)

    def is_current(self, owner: object) -> bool:
        """Whether a call still runs the code from which entries are made here. `owner`: the first argument, for a home."""
        original = self.function if self.home is None else self.home.original
        return original.__code__ is self.code and (self.home is None or self.home.has_original(owner))

    def renewed(self) -> "RootOrigin | None":
        """An origin for the code that the function has now; None where that code runs as it is.

        That is so with a home, with other parameters than before, and for the code of a generator or coroutine.
        """
        code = self.function.__code__
        now, before = Signature.of_function(code), Signature.of_function(self.code)
        if self.home is not None or now.text != before.text or code.co_flags & NOT_COMPILED:
            return None
        return RootOrigin(self.function)

    def native_ending(self, writer: EntryWriter) -> EntryEnding:
        """Call the user's function as it is."""
        return self.calling(writer, self.function)

    def calling_found(self, writer: EntryWriter) -> EntryEnding:
        """Call what a call would find now, which is another function than the compiled one."""
        if self.home is None:
            return self.calling(writer, self.function)
        owner = writer.load(Local(self.code.co_varnames[0]))
        if self.home.is_own:  # its first argument is bound already
            return EntryEnding(
                (f"return {owner}.{self.home.name}({', '.join(self._arguments(writer)[1:])})",)
            )
        kind = f"{writer.constant(type, 'type')}({owner})"
        return EntryEnding((f"return {kind}.{self.home.name}({', '.join(self._arguments(writer))})",))

    def calling(self, writer: EntryWriter, function: FunctionType) -> EntryEnding:
        """Call a function with the parameters of the user's."""
        return EntryEnding(
            (f"return {writer.constant(function, 'original')}({', '.join(self._arguments(writer))})",)
        )

    def _arguments(self, writer: EntryWriter) -> list[str]:
        """The arguments of the call as texts, in the order of the parameters."""
        code = self.code
        names = list(Signature.of_function(code).names)
        loaded = {name: writer.load(Local(name)) for name in names}
        positional = code.co_argcount
        arguments = [loaded[name] for name in names[:positional]]
        keywords = [
            f"{name}={loaded[name]}" for name in names[positional : positional + code.co_kwonlyargcount]
        ]
        rest = names[positional + code.co_kwonlyargcount :]
        if code.co_flags & inspect.CO_VARARGS:
            arguments.append(f"*{loaded[rest.pop(0)]}")
        if code.co_flags & inspect.CO_VARKEYWORDS:
            keywords.append(f"**{loaded[rest.pop(0)]}")
        return [*arguments, *keywords]


@final
class ContinuationOrigin:
    """A continuation: frames in mid-code (ADR 0005)."""

    def __init__(self, target: ResumeTarget) -> None:
        self._target = target
        self.point = point = target.point
        self.code: CodeType = point.frames[0].code
        self.namespace: dict[str, object] = target.namespaces[0]
        self.codes = tuple(frame.code for frame in point.frames)
        self.is_in_loop = point.is_in_loop

    def build(self, tx: TraceContext, machine: Machine, values: Sequence[object]) -> Tracker | None:
        """Put the frames of the resume point into the machine; returns the exception to raise first, if any."""
        return rebuild_frames(tx, machine, self.point, self._target.namespaces, list(values))

    def native_ending(self, writer: EntryWriter) -> EntryEnding:
        """Run the frames natively from the resume point."""
        calls = TailCallWriter(writer)
        state = self.point.form.map(lambda name: writer.load(Local(name)))
        return calls.ending([f"return {calls.to(replace(self._target, is_native=True), state)}"])
