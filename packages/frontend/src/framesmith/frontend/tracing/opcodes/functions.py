"""Making functions, returning, generators.

Frames of generators are in `tracing.generators`.
"""

import inspect
from types import CodeType, CoroutineType
from typing import Final

from framesmith.bytecode.meaning import Kind, Operation
from framesmith.frontend.tracing.finalizers import drop_references, variables_of
from framesmith.frontend.tracing.frame_roles import FrameRole
from framesmith.frontend.tracing.generators import SymbolicGenerator
from framesmith.frontend.tracing.machine import Machine, is_stop_iteration
from framesmith.frontend.tracing.opcodes.stack import count_argument
from framesmith.frontend.tracing.opcodes.table import OpcodeRows
from framesmith.frontend.tracing.value_ends import check_order_of_ends
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import GENERATOR, UNSUPPORTED_VALUE
from framesmith.variables.builtin_types.cells import CellTracker
from framesmith.variables.builtin_types.dicts import DictTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.generators import GeneratorTracker, Returned, Yielded
from framesmith.variables.callables.nested_functions import NestedFunction
from framesmith.variables.core import (
    NULL,
    Constant,
    ObservedException,
    PendingCall,
    TraceContext,
    Tracker,
    raise_observed,
)
from framesmith.variables.objects.exceptions import stop_value

ROWS: Final = OpcodeRows()

_AWAITING: Final = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE
# Python/ceval.c, GET_YIELD_FROM_ITER
_NO_COROUTINE: Final = "cannot 'yield from' a coroutine object in a non-coroutine generator"

DEFAULTS, KEYWORD_DEFAULTS, ANNOTATIONS, CLOSURE, ANNOTATE = 1, 2, 4, 8, 16


@ROWS.opcode(Kind.MAKE_FUNCTION)
def make_function(machine: Machine, operation: Operation) -> None:
    """`def` or `lambda`: code on top, what the flags say below it."""
    frame = machine.frame
    code = frame.pop().as_python_constant()
    assert isinstance(code, CodeType)
    function = NestedFunction(code, frame.namespace)
    flags = operation.argument if isinstance(operation.argument, int) else 0
    # from the top of the stack down
    for flag in (CLOSURE, ANNOTATIONS, KEYWORD_DEFAULTS, DEFAULTS):
        if flags & flag:
            set_attribute_of(machine, function, flag, frame.pop().realize())
    frame.push(function)


@ROWS.opcode(Kind.SET_FUNCTION_ATTRIBUTE)
def set_function_attribute(machine: Machine, operation: Operation) -> None:
    """One part of a new function (3.13)."""
    value, function = machine.frame.pop_many(2)
    if not isinstance(function, NestedFunction):
        raise GraphBreak(UNSUPPORTED_VALUE, f"a part of {function.describe()}, which exists already")
    set_attribute_of(machine, function, count_argument(operation), value.realize())
    machine.frame.push(function)


def set_attribute_of(machine: Machine, function: NestedFunction, flag: int, value: Tracker) -> None:
    """Defaults, keyword defaults, annotations or closure."""
    if flag == ANNOTATIONS:
        function.annotations = value
    elif flag == ANNOTATE:
        function.annotate = value
    elif flag == KEYWORD_DEFAULTS and isinstance(value, DictTracker):
        function.keyword_defaults = {
            str(key.as_python_constant()): item for key, item in value.items(machine.tx)
        }
    elif flag == DEFAULTS and isinstance(value, TupleTracker):
        function.defaults = tuple(value.items)
    elif flag == CLOSURE and isinstance(value, TupleTracker):
        cells = [cell.realize() for cell in value.items]
        function.closure = tuple(cell for cell in cells if isinstance(cell, CellTracker))
    else:
        raise GraphBreak(UNSUPPORTED_VALUE, f"{value.describe()} as a part of a new function")


@ROWS.opcode(Kind.RETURN)
def return_value(machine: Machine, operation: Operation) -> None:
    """Return from the frame; a generator's frame ends."""
    frame = machine.frame
    held = variables_of(frame)
    check_order_of_ends(machine, frame)
    if len(machine.frames) == 1:  # the entry ends here, and what only it holds goes with it
        machine.value_ends.until_end += held
        held = [value for value in held if value.source is None]
    kept = frame.locals.copy(), frame.cells.copy()
    # first, so that this frame does not count as holding them
    frame.locals.clear()
    frame.cells.clear()
    try:
        drop_references(machine, held)
    except GraphBreak:
        # the frame returns natively, and lets go of its variables itself
        frame.locals.update(kept[0])
        frame.cells.update(kept[1])
        raise
    if frame.generator is None:
        machine.leave(frame.pop())
    else:
        drop_references(machine, machine.leave_generator(Returned(frame.pop())))


@ROWS.opcode(Kind.RETURN_GENERATOR)
def return_generator(machine: Machine, operation: Operation) -> None:
    """Return a generator for the new frame, suspended before its first instruction."""
    frame = machine.frame
    if frame.code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise GraphBreak(UNSUPPORTED_VALUE, "a coroutine or asynchronous generator")
    frame.generator = GeneratorTracker(SymbolicGenerator(machine, frame))
    machine.generators.append(frame.generator)
    machine.leave(frame.generator)


@ROWS.opcode(Kind.YIELD)
def yield_value(machine: Machine, operation: Operation) -> None:
    """Suspend the frame; what is sent is pushed when it resumes."""
    drop_references(machine, machine.leave_generator(Yielded(machine.frame.pop())))


@ROWS.opcode(Kind.GET_YIELD_FROM_ITER)
def get_yield_from_iter(machine: Machine, operation: Operation) -> None:
    """The iterator of `yield from`; a coroutine only in what is one."""
    frame = machine.frame
    value = frame.pop().realize()
    if value.python_type is CoroutineType and not frame.code.co_flags & _AWAITING:
        raise_observed(machine.tx, TypeError, _NO_COROUTINE)
    frame.push(value.iterate(machine.tx))


@ROWS.opcode(Kind.SEND)
def send(machine: Machine, operation: Operation) -> None:
    """One step of `yield from`: the receiver's next value, or its returned value and a jump."""
    frame = machine.frame
    value = frame.pop().realize()
    # 0 on 3.11, where the receiver is dropped here at the end; later versions leave it to END_SEND
    slots = count_argument(operation)
    receiver = frame.stack[-max(slots, 1)].realize()
    try:
        step = begin_delegated_step(machine.tx, receiver, value)
    except ObservedException as error:
        if not is_stop_iteration(error):
            raise
        ended = stop_value(machine.tx, error.exception)
    else:
        if step is not None:
            machine.deliver(step, FrameRole.DELEGATE)
            return
        ended = Constant(None)
        if _uses_value(machine, operation) and _may_end_with_value(receiver):
            raise GraphBreak(GENERATOR, "the value of a `yield from` an iterator over a generator")
    if not slots:
        frame.pop()
    frame.jump(operation.target)
    frame.push(ended)


def _uses_value(machine: Machine, operation: Operation) -> bool:
    """Whether the program keeps the value of a `yield from`."""
    assert operation.target is not None
    operations = machine.frame.reading.operations
    after = operations[operation.target]
    return (operations[operation.target + 1] if after.kind is Kind.END_SEND else after).kind is not Kind.POP


def _may_end_with_value(receiver: Tracker) -> bool:
    """Whether an iterator in C (`map`, `enumerate` ...) steps through a generator: it passes on what that returns."""
    return not isinstance(receiver, GeneratorTracker) and any(
        isinstance(child.realize(), GeneratorTracker) for child in receiver.children()
    )


def begin_delegated_step(tx: TraceContext, receiver: Tracker, value: Tracker) -> Tracker | PendingCall | None:
    """What `yield from` does to its iterator: `next`, or `send` of a value that is not None. None when it has ended."""
    if isinstance(receiver, GeneratorTracker):
        return receiver.begin_step(tx, value)
    if isinstance(value, Constant) and value.value is None:
        return receiver.begin_advance(tx)
    return receiver.attribute(tx, "send").call(tx, (value,), {})


@ROWS.opcode(Kind.END_SEND)
def end_send(machine: Machine, operation: Operation) -> None:
    """Drop the receiver below the result (3.12+)."""
    del machine.frame.stack[-1 - count_argument(operation) : -1]


@ROWS.opcode(Kind.CLEANUP_THROW)
def cleanup_throw(machine: Machine, operation: Operation) -> None:
    """An exception that reached a `yield from`: StopIteration becomes its value, any other is raised again."""
    frame = machine.frame
    exception = frame.pop().realize()
    slots = count_argument(operation)
    # what was sent last, and the receiver
    frame.pop_many(1 + slots)
    if not issubclass(exception.python_type, StopIteration):
        raise ObservedException(exception)
    frame.stack += [Constant(None), *[NULL] * (slots - 1), stop_value(machine.tx, exception)]


@ROWS.opcode(Kind.INTRINSIC)
def intrinsic(machine: Machine, operation: Operation) -> None:
    """The remaining intrinsics: only the one that PEP 479 needs is modelled."""
    if operation.argument != "STOPITERATION_ERROR":
        raise GraphBreak(UNSUPPORTED_VALUE, f"the intrinsic {operation.argument}")
    frame = machine.frame
    exception = frame.pop().realize()
    if issubclass(exception.python_type, StopIteration):
        kind = "coroutine" if frame.code.co_flags & inspect.CO_COROUTINE else "generator"
        frame.push(machine.make_replacement(exception, f"{kind} raised StopIteration"))
    else:
        frame.push(exception)
