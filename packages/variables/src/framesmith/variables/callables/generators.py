"""Generators: a symbolic frame that is suspended between two values.

ADR 0009 says what becomes of it at a graph break. The frame itself is in `frontend.tracing.generators`.
"""

import warnings
from collections.abc import Generator, Hashable, Iterator
from dataclasses import dataclass
from types import GeneratorType, MethodDescriptorType
from typing import Final, Protocol, cast, final

from framesmith.guards.class_lookup import derives
from framesmith.variables.core.base import (
    Arguments,
    Keywords,
    PendingCall,
    PendingStep,
    TraceContext,
    Tracker,
    Writer,
)
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.known_value import KnownValue
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.raising import new_exception, raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import row_of

ROWS: Final = Rows()


@final
@dataclass(frozen=True, slots=True)
class Yielded:
    """The outcome of a step: the frame is suspended at a `yield`."""

    value: Tracker


@final
@dataclass(frozen=True, slots=True)
class Returned:
    """The outcome of a step: the frame has returned."""

    value: Tracker


class SuspendedFrame(Protocol):
    """A generator's frame. Implemented by the symbolic interpreter."""

    @property
    def started(self) -> bool:
        """Whether it is suspended at a `yield`, or has ended, rather than before its first instruction."""
        ...

    @property
    def outside(self) -> Tracker | None:
        """The exception that its caller handles while it runs."""
        ...

    @property
    def has_cleanup(self) -> bool:
        """Whether user code runs when the suspended generator is closed."""
        ...

    def held_values(self) -> Iterator[Tracker]:
        """The trackers that the frame holds."""
        ...

    def release(self) -> None:
        """Drop all references: the trace has ended."""
        ...

    def resume(self, value: Tracker, exception: Tracker | None) -> Yielded | Returned:
        """Continue with `value` as the result of the `yield`, or
        with `exception` raised there, up to the next `yield`."""
        ...

    def close(self, exception: Tracker) -> Yielded | Returned:
        """Continue with `exception` raised at the `yield`; once it has left the frame, the program cannot see it."""
        ...

    def enter(self, value: Tracker) -> None:
        """Become the innermost frame of the symbolic interpreter,
        which continues with `value` as the result of the `yield`."""
        ...

    def leave(self) -> None:
        """The symbolic interpreter has popped the frame, which yielded or ended."""
        ...

    def reconstruct(self, generator: Tracker, writer: Writer) -> str:
        """Emit a real generator that is suspended at the same instruction."""
        ...


@final
class GeneratorTracker(Tracker):
    """A generator created in the trace."""

    def __init__(self, frame: SuspendedFrame) -> None:
        self.frame: SuspendedFrame = frame
        self.finished = False
        self.running = False

    @property
    def python_type(self) -> type:
        """`types.GeneratorType`."""
        return GeneratorType

    def iterate(self, tx: TraceContext) -> Tracker:
        """A generator is its own iterator."""
        return self

    def step(
        self, tx: TraceContext, value: Tracker, exception: Tracker | None, *, closing: bool = False
    ) -> Yielded | Returned:
        """Resume the frame up to its next `yield`; an exception that leaves it ends the generator."""
        # the generator asked itself for a value
        if self.running:
            raise_observed(tx, ValueError, "generator already executing")
        tx.changes.note(self)
        if self.finished:
            if exception is not None:
                error = ObservedException(exception)
                error.chained = True  # what the caller handles does not become its context
                raise error
            return Returned(Constant(None))
        self.running = True
        try:
            if exception is not None and closing:
                outcome = self.frame.close(exception)
            else:
                outcome = self.frame.resume(value, exception)
        except ObservedException:
            # CPython: an exception ends a generator for good
            self.finished = True
            raise
        finally:
            self.running = False
        self.finished = isinstance(outcome, Returned)
        return outcome

    def begin_advance(self, tx: TraceContext) -> PendingCall | None:
        """`next(self)` as a pending step, which the symbolic interpreter runs."""
        return self.begin_step(tx, Constant(None))

    def begin_step(self, tx: TraceContext, value: Tracker) -> PendingStep | None:
        """`self.send(value)` as a pending step, which the symbolic
        interpreter runs; None when the generator has ended."""
        if self.running:
            raise_observed(tx, ValueError, "generator already executing")
        return None if self.finished else PendingStep(self, value)

    def enter(self, tx: TraceContext, value: Tracker) -> None:
        """Push the frame onto those of the symbolic interpreter."""
        tx.changes.note(self)
        self.running = True
        self.frame.enter(value)

    def leave(self, tx: TraceContext, *, ended: bool) -> None:
        """The symbolic interpreter has popped the frame; `ended` tells a return from a `yield`."""
        tx.changes.note(self)
        self.running, self.finished = False, ended
        self.frame.leave()

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Methods of generators that have a row; other attributes break the graph."""
        descriptor = GeneratorType.__dict__.get(name)
        if descriptor is None or row_of(tx.registry, descriptor) is None:
            return self.unsupported(f"reading attribute {name!r}")
        return GeneratorMethod(self, descriptor)

    def hash_key(self, tx: TraceContext) -> Hashable:
        """A generator hashes by identity."""
        tx.changes.note_key(self)
        return ("object", self)

    def truth(self, tx: TraceContext) -> bool:
        """A generator is true."""
        return True

    def children(self) -> Iterator[Tracker]:
        """The trackers that its frame holds; none once it has ended."""
        return iter(()) if self.finished else self.frame.held_values()

    def reconstruct(self, writer: Writer) -> str:
        """A real generator suspended at the same instruction."""
        if self.finished:
            return writer.define(self, f"{writer.constant(exhausted_generator, 'exhausted')}()", "generator")
        return self.frame.reconstruct(self, writer)


def exhausted_generator() -> Generator[None, None, None]:
    """A generator that has ended."""
    generator = (None for _ in ())
    next(generator, None)
    return generator


@final
class GeneratorMethod(Tracker):
    """A bound method of a generator, such as `generator.send`."""

    def __init__(self, generator: GeneratorTracker, descriptor: MethodDescriptorType) -> None:
        self.generator = generator
        self.descriptor = descriptor

    @property
    def python_type(self) -> type:
        """The type of a builtin method."""
        return type([].append)

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """The result of the row of the method, or what it leaves to the interpreter."""
        row = row_of(tx.registry, self.descriptor)
        assert row is not None
        return row.begin(tx, (self.generator, *args), kwargs)

    def children(self) -> Iterator[Tracker]:
        """The generator."""
        return iter((self.generator,))

    def reconstruct(self, writer: Writer) -> str:
        """The real bound method: `generator.send`."""
        return f"{writer.value(self.generator)}.{self.descriptor.__name__}"


def make_stop_iteration(tx: TraceContext, value: Tracker) -> ObservedException:
    """StopIteration with the value that a generator returned."""
    # a generator that returns None raises it without an argument
    arguments = () if isinstance(value, Constant) and value.value is None else (value,)
    return ObservedException(new_exception(tx, StopIteration, *arguments))


def run_step(tx: TraceContext, pending: PendingStep) -> Tracker:
    """Run a step of a generator up to its `yield`: the yielded value,
    else the default of `next`, else StopIteration is raised."""
    outcome = require_new_generator(pending.generator).step(tx, pending.value, None)
    if isinstance(outcome, Yielded):
        return outcome.value
    if pending.otherwise is not None:
        return pending.otherwise
    raise make_stop_iteration(tx, outcome.value)


def _begin(tx: TraceContext, self: GeneratorTracker, value: Tracker) -> PendingStep:
    step = self.begin_step(tx, value)
    if step is None:
        raise make_stop_iteration(tx, Constant(None))
    return step


def require_new_generator(generator: Tracker) -> GeneratorTracker:
    """The generator if it was created in the trace; an existing one breaks the graph and runs natively."""
    if isinstance(generator, GeneratorTracker):
        return generator
    return generator.unsupported("running it")


@ROWS.call(GeneratorType.__next__)
def generator_next(tx: TraceContext, self: Tracker) -> PendingStep:
    """`generator.__next__()`."""
    return _begin(tx, require_new_generator(self), Constant(None))


@ROWS.call(GeneratorType.__iter__)
def generator_iter(tx: TraceContext, self: Tracker) -> Tracker:
    """`generator.__iter__()`."""
    return self


@ROWS.call(GeneratorType.send)
def generator_send(tx: TraceContext, self: Tracker, value: Tracker) -> PendingStep:
    """`generator.send(value)`."""
    self = require_new_generator(self)
    if (
        not self.frame.started
        and not self.finished
        and not (isinstance(value, Constant) and value.value is None)
    ):
        raise_observed(tx, TypeError, "can't send non-None value to a just-started generator")
    return _begin(tx, self, value)


@ROWS.call(GeneratorType.throw)
def generator_throw(
    tx: TraceContext,
    self: Tracker,
    kind: Tracker,
    value: Tracker | None = None,
    traceback: Tracker | None = None,
) -> Tracker:
    """`generator.throw(exception)`; the deprecated three-argument form is reduced to it."""
    self = require_new_generator(self)
    # the warning has to come in each call, so Python makes it
    if value is not None and _WARNS_OF_ARGUMENTS:
        return self.unsupported("throw() with deprecated arguments")
    try:
        exception = _make_thrown(tx, kind.realize(), *map(_not_none, (value, traceback)))
    except ObservedException as error:  # what the class raises when it is called is thrown instead
        exception = error.exception
    outcome = self.step(tx, Constant(None), exception)
    if isinstance(outcome, Returned):
        raise make_stop_iteration(tx, outcome.value)
    return outcome.value


def _warns_of_arguments() -> bool:
    """Whether `throw` with more than one argument warns (since CPython 3.12), as it has to in each call."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            exhausted_generator().throw(KeyError, None)
        except KeyError:
            return False
        except DeprecationWarning:
            return True
    raise AssertionError("an exception that was thrown into an ended generator is lost")


_WARNS_OF_ARGUMENTS: Final = _warns_of_arguments()


def _not_none(value: Tracker | None) -> Tracker | None:
    """The argument, or None where the program gave None or nothing."""
    found = None if value is None else value.realize()
    return None if found is None or found.python_type is type(None) else found


def _make_thrown(
    tx: TraceContext, kind: Tracker, value: Tracker | None, traceback: Tracker | None
) -> Tracker:
    """The exception that `throw(kind, value, traceback)` raises, as in Objects/genobject.c, made by
    normalizing the three. Breaks the graph where `throw` itself raises, or gives the exception a traceback."""
    known = value if isinstance(kind, KnownValue) and value is not None else kind
    # as `contextlib` throws: an exception with its own class and traceback
    own = traceback is not None and getattr(traceback, "exception", None) is known
    if traceback is not None and not own:
        return traceback.unsupported("throwing an exception with it")
    if value is None and issubclass(kind.python_type, BaseException):
        return kind
    found = kind.as_python_constant() if issubclass(kind.python_type, type) else None
    if not isinstance(found, type) or not issubclass(found, BaseException):
        return kind.unsupported("throwing it")
    # `throw(type(e), e, e.__traceback__)`, as `contextlib` does: the exception itself
    if value is not None and own and derives(value.python_type, found):
        return value
    # CPython takes an instance as it is, and a tuple as arguments
    if value is not None and issubclass(value.python_type, BaseException | tuple):
        return value.unsupported("throwing it with a class")
    made = kind.call(tx, () if value is None else (value,), {}).realize()
    return made if issubclass(made.python_type, BaseException) else kind.unsupported("throwing it")


def _return_when_closed() -> Generator[None, None, bool]:
    try:
        yield
    except GeneratorExit:
        return True
    return False


_asked = _return_when_closed()
next(_asked)
_CLOSE_RETURNS: Final = cast(object, _asked.close()) is True
"""Whether `close()` gives what the generator returns: from Python 3.13 on."""


@ROWS.call(GeneratorType.close)
def generator_close(tx: TraceContext, self: Tracker) -> Tracker:
    """`generator.close()`: raises GeneratorExit at the `yield`; RuntimeError if the generator yields again."""
    self = require_new_generator(self)
    # nothing was executed, so no `finally` has to run
    if self.finished or not self.frame.started:
        self.finished = True
        return Constant(None)
    try:
        outcome = self.step(tx, Constant(None), new_exception(tx, GeneratorExit), closing=True)
    except ObservedException as error:
        # both mean that the generator ended
        if issubclass(error.exception.python_type, GeneratorExit | StopIteration):
            return Constant(None)
        raise
    if isinstance(outcome, Yielded):
        raise_observed(tx, RuntimeError, "generator ignored GeneratorExit")
    return outcome.value if _CLOSE_RETURNS else Constant(None)
