"""Context managers written in C, and the marks of the profiler, which do not change any value.

Managers that switch a setting of torch are in `torch_contexts.modes`.
"""

from collections.abc import Callable, Iterator
from typing import Final, final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import CONTEXT_MANAGER
from framesmith.guards import Source
from framesmith.guards.class_lookup import class_name
from framesmith.guards.kinds import TypeIs
from framesmith.variables.core import Arguments, Constant, Keywords, TraceContext, Tracker, Writer
from framesmith.variables.core.rows import Rows
from framesmith.variables.torch_contexts.open_blocks import OpenBlock

ROWS: Final = Rows()

_SUBCLASS_SWITCHES: Final = (torch._C.DisableTorchFunctionSubclass, torch._C.DisableTorchFunction)


@final
class SwitchedOff(Tracker):
    """`torch._C.DisableTorchFunctionSubclass()`: within it no subclass is asked, which `OverrideState` counts."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.entered = False
        # to make the context manager again enters the block
        self.block = OpenBlock(self, cls, lambda owner, writer: writer.value(owner))

    @property
    def python_type(self) -> type:
        """The class of the context manager."""
        return self.cls

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """The bound `__enter__` and `__exit__`; others break the graph."""
        if name not in ("__enter__", "__exit__"):
            return self.unsupported(f"reading attribute {name!r}")
        return Switch(self, name == "__enter__")

    def truth(self, tx: TraceContext) -> bool:
        """True, as any object."""
        return True

    def reconstruct(self, writer: Writer) -> str:
        """A new context manager, entered if the trace is inside of its block."""
        name = writer.define(self, f"{writer.constant(self.cls, 'switch')}()", "context")
        if self.entered:
            writer.statement(f"{name}.__enter__()")
        return name


@final
class Switch(Tracker):
    """The bound `__enter__` or `__exit__`."""

    def __init__(self, owner: SwitchedOff, entering: bool) -> None:
        self.owner = owner
        self.entering = entering

    @property
    def python_type(self) -> type:
        """A builtin method."""
        return type([].append)

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker:
        """Record whether the block is entered; `__enter__` returns the context manager. Breaks the graph where blocks are not
        left from the innermost on: each manager restores what it found."""
        overrides = tx.changes.overrides
        if self.entering == self.owner.entered or not (self.entering or overrides.is_innermost(self.owner)):
            raise GraphBreak(
                CONTEXT_MANAGER, f"{class_name(self.owner.cls)} is not entered and left in order"
            )
        tx.changes.note(self.owner)
        if self.entering:
            overrides.enter(self.owner, is_total=self.owner.cls is torch._C.DisableTorchFunction)
            overrides.is_watched = True  # what makes tensors is not in a block of `torch.device` now
            # Still noted at the end of the trace: the block is open.
            tx.changes.note(self.owner.block)
        else:
            overrides.leave()
            tx.changes.forget(self.owner.block)
        self.owner.entered = self.entering
        return self.owner if self.entering else Constant(None)

    def children(self) -> Iterator[Tracker]:
        """The context manager."""
        yield self.owner

    def reconstruct(self, writer: Writer) -> str:
        """The bound method, read from the context manager."""
        return f"{writer.value(self.owner)}.{'__enter__' if self.entering else '__exit__'}"


def _register_switch(kind: Callable[[], object]) -> None:
    assert isinstance(kind, type)

    def make(tx: TraceContext) -> Tracker:
        return SwitchedOff(kind)

    ROWS.call(kind)(make)


for _kind in _SUBCLASS_SWITCHES:
    _register_switch(_kind)


def _native_contexts() -> tuple[type, ...]:
    """The context managers of torch that are classes made by pybind11."""
    found = [cls for cls in vars(torch._C).values() if isinstance(cls, type) and "__enter__" in vars(cls)]
    # The metaclass of pybind11 has no public name.
    return tuple(cls for cls in found if type(cls).__name__ == "pybind11_type")


@final
class NativeContext(Tracker):
    """An existing context manager in C, such as the mode in a `torch.inference_mode` that is entered: entered and left natively."""

    def __init__(self, value: object, source: Source) -> None:
        self.value = value
        self.source = source

    @property
    def python_type(self) -> type:
        """The class of the context manager."""
        return type(self.value)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """The bound `__enter__` and `__exit__`; others break the graph."""
        if name not in ("__enter__", "__exit__"):
            return self.unsupported(f"reading attribute {name!r}")
        return NativeContextMethod(self, name)

    def truth(self, tx: TraceContext) -> bool:
        """True, as any object."""
        return True


@final
class NativeContextMethod(Tracker):
    """A bound `__enter__` or `__exit__`; a call breaks the graph."""

    def __init__(self, owner: NativeContext, name: str) -> None:
        self.owner = owner
        self.name = name

    @property
    def python_type(self) -> type:
        """A bound method."""
        return type(getattr(self.owner.value, self.name))

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker:
        """Break the graph: entering and leaving run natively."""
        raise GraphBreak(CONTEXT_MANAGER, f"{class_name(self.owner.python_type)}.{self.name}()")

    def children(self) -> Iterator[Tracker]:
        """The context manager."""
        yield self.owner

    def reconstruct(self, writer: Writer) -> str:
        """The bound method, read from the context manager."""
        return f"{writer.value(self.owner)}.{self.name}"


@ROWS.wrap(*_native_contexts())
def wrap_native_context(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing context manager, guarded by type; nothing of it is read."""
    tx.guard(source, TypeIs(type(value)))
    return NativeContext(value, source)


_ENTER: Final = torch.ops.profiler._record_function_enter_new
_EXIT: Final = torch.ops.profiler._record_function_exit._RecordFunction


@final
class ProfilerMark(Tracker):
    """The handle of `record_function.__enter__`, which marks a block for the profiler. It is not in the graph.

    Where the graph ends within the block, the mark is set from there on.
    """

    def __init__(self, arguments: tuple[Tracker, ...]) -> None:
        self.arguments = arguments

    @property
    def python_type(self) -> type:
        """The class of the handle."""
        return torch.ScriptObject

    def truth(self, tx: TraceContext) -> bool:
        """True, as any object."""
        return True

    def children(self) -> Iterator[Tracker]:
        """Name and arguments of the mark."""
        return iter(self.arguments)

    def reconstruct(self, writer: Writer) -> str:
        """A call that sets the mark, after the graph."""
        return f"{writer.constant(_ENTER, 'enter')}({', '.join(map(writer.value, self.arguments))})"


@final
class EndOfMark(Tracker):
    """The end of an existing mark, which is replayed as a change of it."""

    def __init__(self, mark: Tracker, source: Source) -> None:
        self.mark = mark
        self.source = source

    @property
    def python_type(self) -> type:
        """The type of the result of ending a mark."""
        return type(None)

    def children(self) -> Iterator[Tracker]:
        """The mark."""
        yield self.mark

    def replay(self, writer: Writer) -> None:
        """End the mark, after the graph."""
        writer.statement(f"{writer.constant(_EXIT, 'exit')}({writer.value(self.mark)})")


@ROWS.call(_ENTER)
def enter_mark(tx: TraceContext, *args: Tracker) -> Tracker:
    """Begin a marked block; returns its handle."""
    return ProfilerMark(args)


@ROWS.call(_EXIT)
def exit_mark(tx: TraceContext, mark: Tracker) -> Tracker:
    """End a marked block. A mark that was set before the graph is ended after it."""
    mark = mark.realize()
    # Begun and ended in the trace: a mark changes no value, so it is left out of the graph.
    if isinstance(mark, ProfilerMark):
        return Constant(None)
    if mark.source is None or mark.python_type is not torch.ScriptObject:
        raise GraphBreak(CONTEXT_MANAGER, f"the end of a profiler's mark, given {mark.describe()}")
    tx.changes.note(EndOfMark(mark, mark.source))
    return Constant(None)


@ROWS.call(torch._C._push_on_torch_dispatch_stack)
def push_mode(tx: TraceContext, mode: Tracker, /) -> Tracker:
    """Break the graph: a dispatch mode sees every operation, also those of a graph, so it is entered natively."""
    raise GraphBreak(CONTEXT_MANAGER, "a dispatch mode")
