"""Raising, handlers, `with`.

How the handler is found: `Interpreter._unwind`.
"""

from contextlib import AbstractContextManager
from typing import Final, NoReturn, cast

from framesmith.bytecode.meaning import Kind, Operation
from framesmith.frontend.tracing.machine import Machine, SavedException, saved_exception
from framesmith.frontend.tracing.opcodes.stack import count_argument, name_of
from framesmith.frontend.tracing.opcodes.table import RESULT, Bind, NativeForm, OpcodeRows, Outcome
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import OPERATION_RAISES
from framesmith.guards.class_lookup import defines
from framesmith.guards.names import PREFIX
from framesmith.variables.core import NULL, Constant, Null, ObservedException, Tracker
from framesmith.variables.objects.exceptions import exception_matches, make_raised_exception, set_cause
from framesmith.variables.polyfills.operators import bound_special

ROWS: Final = OpcodeRows()

_EXIT: Final = f"{PREFIX}x"  # the `__exit__` of a manager


@ROWS.opcode(Kind.PUSH_EXCEPTION)
def push_exception(machine: Machine, operation: Operation) -> None:
    """Enter a handler: the exception becomes the handled one, what was handled before is saved."""
    frame = machine.frame
    exception = frame.pop()
    frame.push(SavedException(machine.handled, exception))
    frame.push(exception)
    machine.handled = exception


@ROWS.opcode(Kind.POP_EXCEPTION)
def pop_exception(machine: Machine, operation: Operation) -> None:
    """Leave a handler. A copy of the popped slot may be left on the stack, unread: it must not open the handler again."""
    frame = machine.frame
    saved = frame.pop()
    assert isinstance(saved, SavedException)
    frame.stack[:] = [Constant(None) if slot is saved else slot for slot in frame.stack]
    machine.handled = saved.previous
    if frame.generator is not None and saved_exception(frame) is None:  # its caller may be another one by now
        machine.handled = frame.generator.frame.outside


@ROWS.opcode(Kind.CHECK_EXCEPTION_MATCH)
def check_exception_match(machine: Machine, operation: Operation) -> None:
    """`except kind:`: push whether the exception below matches."""
    frame = machine.frame
    kind = frame.pop().realize()
    matches = exception_matches(machine.tx, frame.stack[-1].realize(), kind)
    frame.push(Constant(matches))


@ROWS.opcode(Kind.RAISE)
def raise_(machine: Machine, operation: Operation) -> None:
    """`raise`, `raise e`, `raise e from c`."""
    frame, arity = machine.frame, count_argument(operation)
    if arity == 0:
        if machine.handled is None:
            raise GraphBreak(OPERATION_RAISES, "raise without an exception: one may be handled by the caller")
        raise machine.make_reraised(machine.handled)
    cause = frame.pop() if arity == 2 else None
    exception = make_raised_exception(machine.tx, frame.pop())
    if cause is not None:
        set_cause(machine.tx, exception, cause)
    raise ObservedException(exception)


@ROWS.opcode(Kind.RERAISE)
def reraise(machine: Machine, operation: Operation) -> None:
    """Raise the top again, as it is."""
    raise machine.make_reraised(machine.frame.pop().realize())


@ROWS.opcode(Kind.BEFORE_WITH)
def before_with(machine: Machine, operation: Operation) -> None:
    """`with manager:`: push the bound `__exit__`, then the result of `__enter__`."""
    tx, frame = machine.tx, machine.frame
    manager = frame.pop().realize()
    # is it there at all? CPython looks both up before it calls one, this one first
    special_method(machine, manager, "__enter__")
    exit_ = special_method(machine, manager, "__exit__")
    frame.push(exit_)
    machine.deliver(special_method(machine, manager, "__enter__").begin_call(tx, (), {}))


def special_method(machine: Machine, manager: Tracker, name: str) -> Tracker:
    """A method of the context manager protocol, looked up on the type."""
    if not defines(manager.python_type, name):
        raise GraphBreak(OPERATION_RAISES, f"{manager.describe()} is not a context manager")
    return manager.special_attribute(machine.tx, name)


@ROWS.opcode(Kind.LOAD_SPECIAL)
def load_special(machine: Machine, operation: Operation) -> None:
    """Push a bound method of a context manager, looked up on its type, and NULL (3.14)."""
    frame = machine.frame
    frame.push(special_method(machine, frame.pop().realize(), name_of(operation)))
    frame.push(NULL)


@ROWS.opcode(Kind.WITH_EXCEPT_START)
def with_except_start(machine: Machine, operation: Operation) -> None:
    """Call `__exit__(type, value, traceback)` for the exception on top, push its result."""
    frame, tx = machine.frame, machine.tx
    exception = frame.stack[-1].realize()
    place = count_argument(operation)
    exit_ = frame.stack[-place].realize()
    # from 3.14 on the slot above holds the receiver, or NULL
    receiver = [] if place == 4 or isinstance(frame.stack[1 - place], Null) else [frame.stack[1 - place]]
    kind = exception.attribute(tx, "__class__")
    traceback = exception.attribute(tx, "__traceback__")
    machine.deliver(exit_.begin_call(tx, (*receiver, kind, exception, traceback), {}))


def _with_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    return NativeForm(
        (f"{_EXIT}, {RESULT} = {bind(begin_with, 'begin_with')}({operands[0]})",),
        (Outcome((_EXIT, RESULT)),),
    )


def begin_with(manager: object) -> tuple[object, object]:
    """`__exit__` bound and the result of `__enter__`, looked up on the type as CPython does."""
    enter, exit_ = bound_special(manager, "__enter__"), bound_special(manager, "__exit__")
    if enter is None or exit_ is None:
        raise_missing(manager)
    return exit_, enter()


def raise_missing(manager: object) -> NoReturn:
    """Raise CPython's own error for an object that lacks a method of the protocol: it calls nothing before."""
    with cast(AbstractContextManager[object], manager):
        pass
    raise AssertionError("a method appeared while it was looked up")


def _special_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    find = bind(find_special, "find_special")
    return NativeForm(
        (f"{RESULT} = {find}({operands[0]}, {operation.argument!r})",), (Outcome((RESULT, "")),)
    )


def find_special(manager: object, name: str) -> object:
    """A method of a context manager, bound, looked up on its type; where it is missing CPython raises its own error."""
    found = bound_special(manager, name)
    return raise_missing(manager) if found is None else found


ROWS.native(Kind.BEFORE_WITH, _with_form)
ROWS.native(Kind.LOAD_SPECIAL, _special_form)
