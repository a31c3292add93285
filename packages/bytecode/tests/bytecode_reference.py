"""A slow interpreter of operations: the definition of every `Kind`, in Python that runs.

For tests and for reading. A frame can be stopped before any
operation and its state looked at, which is how continuations are tested. What
each operation does is in `bytecode_reference_rows`.
"""

import builtins
import inspect
from collections.abc import Callable, Generator
from types import CellType, FunctionType
from typing import final

from bytecode_reference_rows import OPERATIONS, Frame, SavedException, SavedOffset

from framesmith.bytecode.meaning import Kind, Operation, Reading, read

Stop = Callable[[Frame, int], bool]
Yields = Generator[object, object, "Returned | Paused"]


@final
class Returned:
    """The frame ended with `value`."""

    def __init__(self, value: object) -> None:
        self.value = value


@final
class Paused:
    """The frame stands before operation `index`."""

    def __init__(self, index: int) -> None:
        self.index = index


def frame_of(function: FunctionType, args: tuple[object, ...], kwargs: dict[str, object]) -> Frame:
    """The frame of a call, before its first operation."""
    reading = read(function.__code__)
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    free: dict[str, CellType] = dict(
        zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    )
    namespace = function.__globals__.get("__builtins__", builtins)
    found = namespace if isinstance(namespace, dict) else vars(namespace)
    return Frame(function.__code__, reading, dict(bound.arguments), free, function.__globals__, found)


def execute(frame: Frame, index: int = 0, stop: Stop | None = None) -> Yields:
    """Run `frame` from operation `index` until it returns, raises or `stop(frame, index)` says so.

    A generator, because the frame may be one: what it yields and gets sent is what the frame yields and gets.
    """
    operations = frame.reading.operations
    while True:
        if stop is not None and stop(frame, index):
            return Paused(index)
        operation = operations[index]
        try:
            if operation.kind is Kind.RETURN:
                return Returned(frame.pop())
            if operation.kind is Kind.YIELD:
                index = yield from _yield(frame, index)
                continue
            else:
                jumped = _step(frame, operation)
        except BaseException as error:
            index = _unwind(frame, index, error)
            continue
        index = operation.target if jumped and operation.target is not None else index + 1


def _yield(frame: Frame, index: int) -> Generator[object, object, int]:
    """Run the YIELD at `index`; what is thrown in goes to the generator that is delegated to, if any."""
    before = frame.reading.operations[index - 1]
    value = frame.pop()
    while True:
        try:
            frame.push((yield value))
            return index + 1
        except BaseException as error:
            thrown = error
        # CPython resumes a frame that is thrown into with None for the value sent, then raises.
        slots = before.argument if before.kind is Kind.SEND and isinstance(before.argument, int) else 0
        receiver = frame.stack[-max(slots, 1)] if frame.stack else None
        if before.kind is not Kind.SEND or not hasattr(receiver, "throw"):
            if frame.handled is not None and thrown.__context__ is None and thrown is not frame.handled:
                thrown.__context__ = frame.handled
            frame.push(None)
            raise thrown
        if isinstance(thrown, GeneratorExit):
            receiver.close()
            frame.push(None)
            raise thrown
        try:
            value = receiver.throw(thrown)
        except StopIteration as stop:
            if not before.argument:
                frame.pop()
            frame.push(stop.value)
            assert before.target is not None
            return before.target
        except BaseException:
            frame.push(None)
            raise


def _step(frame: Frame, operation: Operation) -> bool:
    """Run one operation while the exception the frame is handling is the interpreter's too."""
    run = OPERATIONS[operation.kind]
    handled = frame.handled
    if handled is None:
        return bool(run(frame, operation.argument))
    traceback, context = handled.__traceback__, handled.__context__
    try:
        raise handled
    except BaseException:
        handled.__traceback__, handled.__context__ = traceback, context
        return bool(run(frame, operation.argument))


def _unwind(frame: Frame, index: int, error: BaseException) -> int:
    handler = frame.reading.handlers[index]
    if handler is None:
        raise error
    del frame.stack[handler.depth :]
    if handler.push_lasti:
        frame.push(SavedOffset(index))
    frame.push(error)
    return handler.target


__all__ = ["Frame", "Paused", "Reading", "Returned", "SavedException", "SavedOffset", "execute", "frame_of"]
