"""Calls.

What a call of a value does is for its tracker to say.
"""

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias, cast

from framesmith.bytecode.meaning import Kind, Operation
from framesmith.frontend.tracing.deferred_calls import warn
from framesmith.frontend.tracing.finalizers import drop_references
from framesmith.frontend.tracing.machine import Machine
from framesmith.frontend.tracing.made_classes import begin_make_class
from framesmith.frontend.tracing.opcodes.building import mapping_items
from framesmith.frontend.tracing.opcodes.stack import count_argument
from framesmith.frontend.tracing.opcodes.table import Bind, NativeForm, OpcodeRows
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import OPERATION_RAISES
from framesmith.guards import Guard, Reason
from framesmith.guards.class_lookup import class_name, defines
from framesmith.guards.kinds import AmbientValue
from framesmith.variables.builtin_types.iterators import TUPLE_ASKS, unpack
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import (
    NULL,
    Constant,
    Null,
    ObservedException,
    PendingCall,
    TraceContext,
    Tracker,
)
from framesmith.variables.core.builtin_methods import Builtin
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.objects.classes import ClassTracker
from framesmith.variables.objects.super_objects import make_super

ROWS: Final = OpcodeRows()


@ROWS.opcode(Kind.CALL)
def call(machine: Machine, operation: Operation) -> None:
    """`f(a, k=b)`."""
    total, names = call_shape(operation)
    finish_call(machine, total, names)


@ROWS.opcode(Kind.CALL_NAMES_ON_STACK)
def call_names_on_stack(machine: Machine, operation: Operation) -> None:
    """`f(a, k=b)` (3.13)."""
    names = machine.frame.pop().as_python_constant()
    finish_call(machine, count_argument(operation), cast(tuple[str, ...], names))


def finish_call(machine: Machine, total: int, names: tuple[str, ...]) -> None:
    """Pop the operands, call the callable, and push its result or start the frame that will give it."""
    frame = machine.frames[-1]
    values = frame.pop_many(total)
    callee, receiver = frame.pop_callable()
    positional = len(values) - len(names)
    args = (*receiver, *values[:positional])
    kwargs = dict(zip(names, values[positional:], strict=True))
    callee = callee.realize()
    # the C functions that look at the frame for what they are not given
    if not args and not kwargs:
        if isinstance(callee, ClassTracker) and callee.value is super:
            frame.push(make_super_of_frame(machine))
            return
        asked = HANDLED_QUESTIONS.get(callee.value) if isinstance(callee, Builtin) else None
        if asked is not None and not (machine.handled is None and machine.is_called_in_handler):
            frame.push(asked(machine.tx, require_handled(machine)))
            return
    begin = FRAME_CALLS.get(callee.value) if isinstance(callee, Builtin) else None
    result = begin(machine, args, kwargs) if begin else begin_make_class(machine, callee, args, kwargs)
    if result is None:
        machine.tx.changes.called = callee
        try:
            result = callee.begin_call(machine.tx, args, kwargs)
        finally:
            machine.tx.changes.called = None
    machine.deliver(result)
    # else a frame was entered, which holds them
    if isinstance(result, Tracker):
        drop_references(machine, [*args, *kwargs.values()])


def require_handled(machine: Machine) -> Tracker | None:
    """The exception being handled; None where there is none, which is guarded: the caller may be in a handler."""
    if machine.handled is not None:
        return machine.handled.realize()
    claim = AmbientValue(sys.exception, (), None)
    machine.tx.guards.add(Guard.relation(claim, Reason("the program asked for the exception being handled")))
    return None


def exc_info(tx: TraceContext, handled: Tracker | None) -> Tracker:
    """`sys.exc_info()`."""
    if handled is None:
        return TupleTracker([Constant(None)] * 3)
    return TupleTracker([handled.attribute(tx, "__class__"), handled, handled.attribute(tx, "__traceback__")])


def current_exception(tx: TraceContext, handled: Tracker | None) -> Tracker:
    """`sys.exception()`."""
    return Constant(None) if handled is None else handled


# Called in a handler and outside of every traced one, the answer is the caller's: then the call runs natively.
HANDLED_QUESTIONS: Mapping[object, Callable[[TraceContext, Tracker | None], Tracker]] = {
    sys.exc_info: exc_info,
    sys.exception: current_exception,
}


BeginFrameCall: TypeAlias = Callable[
    [Machine, Sequence[Tracker], Mapping[str, Tracker]], Tracker | PendingCall | None
]
FRAME_CALLS: Final[Mapping[object, BeginFrameCall]] = {warnings.warn: warn}
"""C functions whose call depends on the frames around it. None: it is called as any other."""


def make_super_of_frame(machine: Machine) -> Tracker:
    """`super()`."""
    try:
        return make_super(machine.tx, *super_arguments(machine))
    except ObservedException as error:
        error.of_frame = True
        raise


def super_arguments(machine: Machine) -> tuple[Tracker, ...]:
    """What `super()` takes from its frame: the class in the cell `__class__`, and the first argument.

    Errors in the order and words of CPython (`super_init_without_args`, Objects/typeobject.c).
    """
    tx, frame = machine.tx, machine.frame
    code = frame.code
    if not code.co_argcount:
        raise_observed(tx, RuntimeError, "super(): no arguments")
    first = code.co_varnames[0]
    receiver = frame.cells[first].read(tx) if first in frame.cells else frame.locals.get(first)
    if receiver is None:
        raise_observed(tx, RuntimeError, "super(): arg[0] deleted")
    # a variable `__class__` of the function itself is none: it is looked for in what the function closes over
    if "__class__" not in code.co_freevars:
        raise_observed(tx, RuntimeError, "super(): __class__ cell not found")
    owner = frame.cells["__class__"].read(tx)
    if owner is None:
        raise_observed(tx, RuntimeError, "super(): empty __class__ cell")
    owner = owner.realize()
    if not issubclass(owner.python_type, type):
        raise_observed(
            tx, RuntimeError, f"super(): __class__ is not a type ({class_name(owner.python_type)})"
        )
    return owner, receiver


@ROWS.opcode(Kind.CALL_EXTENDED)
def call_extended(machine: Machine, operation: Operation) -> None:
    """`f(*args, **kwargs)`."""
    frame = machine.frame
    kwargs: dict[str, Tracker] = {}
    given = frame.pop() if operation.argument else NULL
    if not isinstance(given, Null):
        for key, value in mapping_items(machine, given):
            name = key.as_python_constant() if isinstance(key, Constant) else None
            if type(name) is not str:
                raise GraphBreak(OPERATION_RAISES, "keywords must be strings")
            kwargs[name] = value
    packed = frame.pop().realize()
    # the text of CPython's TypeError names the function
    if not any(defines(packed.python_type, name) for name in ("__iter__", "__getitem__")):
        raise GraphBreak(OPERATION_RAISES, f"unpacking {packed.describe()} as arguments")
    args = (
        list(packed.items)
        if isinstance(packed, TupleTracker)
        else unpack(machine.tx, packed, asks=TUPLE_ASKS)
    )
    function, receiver = frame.pop_callable()
    callee, overrides = function.realize(), machine.tx.changes.overrides
    if not isinstance(given, Null) and not kwargs:
        overrides.unpacks_none = callee.python_type
    machine.tx.changes.called = callee
    try:
        begun = callee.begin_call(machine.tx, (*receiver, *args), kwargs)
    finally:
        overrides.unpacks_none = machine.tx.changes.called = None
    machine.deliver(begun)


def call_shape(operation: Operation) -> tuple[int, tuple[str, ...]]:
    """Number of arguments and the names of the last ones."""
    assert isinstance(operation.argument, tuple)
    total, names = operation.argument
    return total, names


def _callee(slots: list[str | None]) -> tuple[str, list[str]]:
    """The callable's expression and the receiver, if there is one."""
    first, second = slots
    if first is None or second is None:
        return str(second if first is None else first), []
    return first, [second]


def _call_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    _, names = call_shape(operation)
    return _call_text(operands, names)


def _call_text(operands: list[str | None], names: tuple[str, ...]) -> NativeForm:
    callee, receiver = _callee(operands[:2])
    values = [str(operand) for operand in operands[2:]]
    positional = len(values) - len(names)
    keywords = [f"{name}={value}" for name, value in zip(names, values[positional:], strict=True)]
    arguments = ", ".join([*receiver, *values[:positional], *keywords])
    return NativeForm.of(f"{callee}({arguments})")


def _call_names_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    callee, receiver = _callee(operands[:2])
    values = [*receiver, *(str(operand) for operand in operands[2:-1])]
    names = operands[-1]
    given = f"({', '.join(values)},)"
    split = f"{len(values)} - {bind(len, 'len')}({names})"  # no function of ours may come between: some count frames
    keywords = f"{bind(dict, 'dict')}({bind(zip, 'zip')}({names}, {given}[{split}:]))"
    return NativeForm.of(f"{callee}(*{given}[:{split}], **{keywords})")


def _extended_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    callee, receiver = _callee(operands[:2])
    arguments = [
        *receiver,
        f"*{operands[2]}",
        *(f"**{mapping}" for mapping in operands[3:] if mapping is not None),
    ]
    return NativeForm.of(f"{callee}({', '.join(arguments)})")


ROWS.native(Kind.CALL, _call_form)
ROWS.native(Kind.CALL_NAMES_ON_STACK, _call_names_form)
ROWS.native(Kind.CALL_EXTENDED, _extended_form)
