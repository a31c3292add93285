"""The symbolic machine: frames with their stack, locals, cells and jumps. It knows no single opcode.

Who fetches operations and decides about graph breaks: `interpreter`.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Protocol, final
from weakref import WeakKeyDictionary

from framesmith.bytecode.meaning import NULL_FIRST, Operation, Reading, read
from framesmith.frontend.tracing.frame_roles import FrameRole, end_of_iteration
from framesmith.frontend.tracing.value_end_state import ValueEnds
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import RECURSION, UNSUPPORTED_VALUE
from framesmith.graph.recording.module_stacks import ModuleStack
from framesmith.variables.builtin_types.cells import CellTracker
from framesmith.variables.builtin_types.literals import literal
from framesmith.variables.builtin_types.namespaces import NamespaceTracker
from framesmith.variables.callables.generators import (
    GeneratorTracker,
    Returned,
    Yielded,
    make_stop_iteration,
    require_new_generator,
)
from framesmith.variables.core import (
    NULL,
    Constant,
    Null,
    ObservedException,
    PendingCall,
    PendingFrame,
    PendingStep,
    SkippedFrame,
    TraceContext,
    Tracker,
    from_python,
    new_exception,
    raise_observed,
)
from framesmith.variables.core.attribute_errors import missing_name
from framesmith.variables.objects.exceptions import ExceptionTracker, set_cause, set_context

# Inlined frames before the graph breaks: a recursion this deep is data, not structure, and its resume points have as many frames.
MAXIMUM_FRAMES = 250
_READINGS: WeakKeyDictionary[CodeType, Reading] = WeakKeyDictionary()


def reading_of(code: CodeType) -> Reading:
    """The version-neutral reading of a code object, made once and kept as long as the code lives."""
    found = _READINGS.get(code)
    if found is None:
        found = _READINGS[code] = read(code)
    return found


@final
class SavedException(Tracker):
    """The stack item that PUSH_EXC_INFO leaves below a handler: the exception handled before.

    `current` is the exception that this handler handles; a continuation needs it to restore the
    interpreter's state.
    """

    def __init__(self, previous: Tracker | None, current: Tracker) -> None:
        self.previous = previous
        self.current = current

    @property
    def python_type(self) -> type:
        """The type of the exception being handled."""
        return self.current.python_type


# Constants that `is`, or NaN as a key, tells from equal ones: CPython has one object for each in a code object.
_HAVE_COPIES = frozenset({float, complex, tuple, frozenset})


@final
@dataclass(slots=True, eq=False)
class Frame:
    """One symbolic frame.

    Invariant: `stack` mirrors CPython's value stack, item for item.
    """

    code: CodeType
    reading: Reading
    namespace: NamespaceTracker
    locals: dict[str, Tracker]
    cells: dict[str, CellTracker]
    function: Tracker | None = None
    stack: list[Tracker] = field(default_factory=list)
    index: int = 0
    """The operation to run next."""
    current: int = 0
    """The operation that runs."""
    replacement: Tracker | None = None
    """What is given in place of its own value: the instance, where `__init__` returns None."""
    generator: GeneratorTracker | None = None
    barrier: bool = False
    """A run ends with this frame."""
    names: dict[str, Tracker] = field(default_factory=dict)
    """The namespace of a class body: what LOAD_NAME and STORE_NAME read and write."""
    role: FrameRole = FrameRole.CALL
    """How what it gives reaches the frame around it."""
    otherwise: Tracker | None = None
    """The default of `next(iterator, default)`: what the frame around it gets when this one raises StopIteration."""
    entered: int = 0
    """The step of the trace in which it was pushed; 0: it was there from the start."""
    recorded: int = 0
    """How many operations the graph had then."""
    referenced: int = 0
    """How many weak references the trace had made then."""
    closing: bool = False
    """The exception which leaves it is not kept, so that its variables go at once."""
    asserted: int = 0
    """How many of its branches became assertions of the graph."""
    on_return: Callable[[Tracker], None] | None = None
    """Is told what it returns."""
    skipped: tuple[SkippedFrame, ...] = ()
    """The frames between it and the frame that called it, the outermost first."""
    modules: ModuleStack | None = None
    """The modules in whose calls it stands, once an operation was recorded there (`module_stacks`)."""

    @property
    def operation(self) -> Operation:
        """The operation that runs."""
        return self.reading.operations[self.current]

    def push(self, value: Tracker) -> None:
        """Push one value."""
        self.stack.append(value)

    def pop(self) -> Tracker:
        """Pop one value."""
        return self.stack.pop()

    def pop_many(self, count: int) -> list[Tracker]:
        """Pop `count` values, the deepest first."""
        if count == 0:
            return []
        values = self.stack[-count:]
        del self.stack[-count:]
        return values

    def push_callable(self, callee: Tracker) -> None:
        """Push a callable and its NULL in the order of this Python version."""
        self.stack.extend((NULL, callee) if NULL_FIRST else (callee, NULL))

    def pop_callable(self) -> tuple[Tracker, tuple[Tracker, ...]]:
        """Pop the two slots below the arguments of a call: the callable and, if present, `self`."""
        first, second = self.pop_many(2)
        if isinstance(first, Null):
            return second, ()
        if isinstance(second, Null):
            return first, ()
        return first, (second,)

    def release(self) -> None:
        """Let go of all values."""
        self.stack.clear()
        self.locals.clear()
        self.cells.clear()
        self.generator = None

    def jump(self, target: int | None) -> None:
        """Continue at another operation."""
        assert target is not None
        self.index = target


def new_frame(
    code: CodeType,
    namespace: NamespaceTracker,
    arguments: Mapping[str, Tracker],
    closure: tuple[Tracker, ...],
    function: Tracker | None = None,
) -> Frame:
    """A frame at its first instruction with its arguments bound."""
    cells: dict[str, CellTracker] = {}
    for name, cell in zip(code.co_freevars, closure, strict=True):
        tracker = cell.realize()
        assert isinstance(tracker, CellTracker)
        cells[name] = tracker
    return Frame(code, reading_of(code), namespace, dict(arguments), cells, function)


def make_frame(pending: PendingFrame) -> Frame:
    """The frame of a pending call, at its first instruction."""
    namespace = pending.namespace
    assert isinstance(namespace, NamespaceTracker)
    frame = new_frame(pending.code, namespace, pending.arguments, pending.closure, pending.function)
    frame.replacement = pending.replacement
    frame.on_return = pending.on_return
    frame.skipped = pending.skipped
    return frame


def is_stop_iteration(error: ObservedException) -> bool:
    """Whether an exception is the end of an iterator."""
    return issubclass(error.exception.python_type, StopIteration)


def saved_exception(frame: Frame) -> SavedException | None:
    """The slot of the innermost handler in which the frame is; None where it is in none."""
    return next((slot for slot in reversed(frame.stack) if isinstance(slot, SavedException)), None)


class RunFrame(Protocol):
    """Runs a frame until it has an outcome. Implemented by the symbolic interpreter."""

    def __call__(self, frame: Frame, raised: ObservedException | None) -> Tracker | Yielded | Returned:
        """Push the frame and run it; with `raised`, it begins by raising at its current operation."""
        ...


@final
class Machine:
    """The stack of symbolic frames and the interpreter state beside it."""

    def __init__(self, tx: TraceContext, run: RunFrame) -> None:
        self.tx = tx
        self.run = run
        self.frames: list[Frame] = []
        self.handled: Tracker | None = None
        # the compiled function may be called in a handler; a trace is never made in one of ours
        self.is_called_in_handler = sys.exception() is not None
        self.generators: list[GeneratorTracker] = []
        self.value_ends = ValueEnds()
        self.finalized: dict[int, tuple[object, bool]] = {}  # existing objects by identity (see `finalizers`)
        self.outcome: Tracker | Yielded | Returned | None = None
        self._literals: dict[int, Tracker] = {}

    @property
    def frame(self) -> Frame:
        """The innermost frame."""
        return self.frames[-1]

    def load_literal(self, value: object) -> Tracker:
        """A constant of the code; a tuple or a NaN is one object wherever the same one is loaded."""
        if type(value) not in _HAVE_COPIES:
            return from_python(self.tx, value)
        # the code holds its constants, so their ids are their own
        found = self._literals.get(id(value))
        if found is None:
            found = self._literals[id(value)] = literal(self.tx, value)
        return found

    def repeatable_state(self) -> object:
        """What a call may leave behind besides values: equal states mean nothing did. None where no call is to be repeated:
        an exception is handled, which the call could ask for, or a value ends in sight of the program."""
        ends = self.value_ends
        if self.handled is not None or ends.held or ends.reason is not None:
            return None
        return ends.references, ends.watched

    def release(self) -> None:
        """Forget all frames, also those of generators (ADR 0014)."""
        for generator in self.generators:
            generator.finished = True
            generator.frame.release()
        for frame in self.frames:
            frame.release()
        self.frames.clear()
        self.generators.clear()
        self.finalized.clear()
        self.value_ends.release()
        self._literals.clear()
        self.outcome = self.handled = None  # an ended generator is a cycle that leads here

    def deliver(self, result: Tracker | PendingCall, role: FrameRole = FrameRole.CALL) -> None:
        """Push the result of the running operation, or start the frame that will give it."""
        if not isinstance(result, PendingCall):
            self.frames[-1].stack.append(result)
            return
        if isinstance(result, PendingStep):
            require_new_generator(result.generator).enter(self.tx, result.value)
        else:
            self.enter(make_frame(result))
        # `frame` is the one that was just entered
        self.frame.role = role if result.otherwise is None else FrameRole.DEFAULT
        self.frame.otherwise = result.otherwise

    def enter(self, frame: Frame) -> None:
        """Make a frame the innermost."""
        if len(self.frames) >= MAXIMUM_FRAMES:
            raise GraphBreak(RECURSION, f"{frame.code.co_qualname} at depth {len(self.frames)}")
        self.frames.append(frame)

    def leave(self, value: Tracker) -> None:
        """Return from the innermost frame; behind a barrier the value is the outcome of its run."""
        if self.frame.replacement is not None and value.realize().python_type is not type(None):
            raise GraphBreak(UNSUPPORTED_VALUE, "__init__ that returns a value")  # a TypeError in the caller
        frame = self.frames.pop()
        result = value if frame.replacement is None else frame.replacement
        if frame.on_return is not None:
            frame.on_return(result)
        if frame.barrier:
            self.outcome = result
        else:
            self.frame.push(result)

    def leave_generator(self, outcome: Yielded | Returned) -> list[Tracker]:
        """Suspend or end the innermost frame, a generator's; returns what may have lost its last reference."""
        frame = self.frames.pop()
        if frame.barrier:
            self.outcome = outcome
            return []
        generator = frame.generator
        assert generator is not None
        generator.leave(self.tx, ended=isinstance(outcome, Returned))
        if isinstance(outcome, Returned):
            return self.end_iteration(frame, outcome.value)
        # the next value may be asked for by another frame, in another way
        frame.role, frame.otherwise = FrameRole.CALL, None
        self.frame.push(outcome.value)
        return [generator]

    def end_iteration(self, inner: Frame, value: Tracker) -> list[Tracker]:
        """An inner frame has ended an iteration: act on the frame around it as the role of the inner one says.

        Returns what the frame lets go of. Raises StopIteration (observed) for a call, for which an end is an exception.
        """
        frame = self.frame
        found = end_of_iteration(inner.role, frame.operation)
        if found is None:
            raise make_stop_iteration(self.tx, value)
        dropped = frame.pop_many(found.drops)
        if found.pushes:
            frame.push(value if inner.otherwise is None else inner.otherwise)
        if found.target is not None:
            frame.jump(found.target)
        return dropped

    def load_local(self, name: str) -> Tracker:
        """A fast local; UnboundLocalError when it is not bound."""
        value = self.frames[-1].locals.get(name)
        if value is None:
            raise_observed(
                self.tx,
                UnboundLocalError,
                f"cannot access local variable '{name}' where it is not associated with a value",
            )
        return value

    def load_cell(self, name: str) -> Tracker:
        """The contents of a cell; NameError or UnboundLocalError when it is empty."""
        contents = self.frame.cells[name].read(self.tx)
        if contents is None:
            if name in self.frame.code.co_freevars:
                missing_name(
                    self.tx,
                    name,
                    f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope",
                )
            raise_observed(
                self.tx,
                UnboundLocalError,
                f"cannot access local variable '{name}' where it is not associated with a value",
            )
        return contents

    def chain_exceptions(self, exception: Tracker, earlier: Tracker, *, as_cause: bool = False) -> None:
        """Record that `exception` was raised while `earlier` was handled, as CPython does."""
        if isinstance(exception, ExceptionTracker):
            set_context(self.tx, exception, earlier.realize())
            if as_cause:
                set_cause(self.tx, exception, earlier)

    def make_replacement(self, exception: Tracker, message: str) -> Tracker:
        """The RuntimeError that a generator raises in place of another exception (PEP 479)."""
        raised = new_exception(self.tx, RuntimeError, Constant(message))
        self.chain_exceptions(raised, exception, as_cause=True)
        return raised

    def make_reraised(self, exception: Tracker) -> ObservedException:
        """An exception that is raised again: its context stays as it is."""
        error = ObservedException(exception)
        error.chained = error.again = True
        return error
