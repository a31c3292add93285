"""Attribute access: load, store, delete, methods and `super()`."""

from typing import Final

from framesmith.bytecode.meaning import NULL_FIRST, Kind, Operation
from framesmith.frontend.tracing.machine import Machine
from framesmith.frontend.tracing.opcodes.operators import expression, statement
from framesmith.frontend.tracing.opcodes.stack import name_of
from framesmith.frontend.tracing.opcodes.table import (
    RESULT,
    Bind,
    NativeForm,
    NativeWriter,
    OpcodeRows,
    Outcome,
)
from framesmith.variables.core.attribute_errors import complete_error
from framesmith.variables.core.builtin_methods import BoundBuiltin
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.objects.classes import ClassTracker
from framesmith.variables.objects.super_objects import make_super
from framesmith.variables.tensors.tensor_methods import TensorMethod

ROWS: Final = OpcodeRows()


@ROWS.opcode(Kind.LOAD_ATTRIBUTE)
def load_attribute(machine: Machine, operation: Operation) -> None:
    """`a.name`; a property's frame is left to the machine."""
    value = machine.frame.pop().realize()
    try:
        found = value.begin_attribute(machine.tx, name_of(operation))
    except ObservedException as error:
        complete_error(error, value, name_of(operation))
        raise
    machine.deliver(found)


@ROWS.opcode(Kind.LOAD_METHOD)
def load_method(machine: Machine, operation: Operation) -> None:
    """`a.name` about to be called."""
    value = machine.frame.pop().realize()
    # run to its end here, even where it is a frame: a frame gives one value, and two slots are to be pushed
    try:
        found = value.attribute(machine.tx, name_of(operation))
    except ObservedException as error:
        complete_error(error, value, name_of(operation))
        raise
    if isinstance(found, TensorMethod | BoundBuiltin):
        # at a break it is called unbound, as CPython calls it, so that errors have CPython's text
        found.is_called_at_once = True
    machine.frame.push_callable(found)


@ROWS.opcode(Kind.STORE_ATTRIBUTE)
def store_attribute(machine: Machine, operation: Operation) -> None:
    """`a.name = v`."""
    value, owner = machine.frame.pop_many(2)
    owner.realize().set_attribute(machine.tx, name_of(operation), value)


@ROWS.opcode(Kind.DELETE_ATTRIBUTE)
def delete_attribute(machine: Machine, operation: Operation) -> None:
    """`del a.name`."""
    machine.frame.pop().realize().delete_attribute(machine.tx, name_of(operation))


@ROWS.opcode(Kind.LOAD_SUPER_ATTRIBUTE)
def load_super_attribute(machine: Machine, operation: Operation) -> None:
    """`super().name` (3.12+). What the name `super` leads to is on the stack: CPython compiles the same for a `super` of
    the user's that it finds in the globals, and then calls that, with the arguments that the user wrote."""
    assert isinstance(operation.argument, tuple)
    name, is_method, without_arguments = operation.argument
    callee, owner, receiver = machine.frame.pop_many(3)
    callee = callee.realize()
    if isinstance(callee, ClassTracker) and callee.value is super:
        made = make_super(machine.tx, owner, receiver)
    else:
        made = callee.call(machine.tx, () if without_arguments else (owner, receiver), {})
    found = made.realize().attribute(machine.tx, name)
    if is_method:
        machine.frame.push_callable(found)
    else:
        machine.frame.push(found)


def _method_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    pushes = ("", RESULT) if NULL_FIRST else (RESULT, "")
    return NativeForm((f"{RESULT} = {operands[0]}.{operation.argument}",), (Outcome(pushes),))


def _super_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    assert isinstance(operation.argument, tuple)
    name, is_method, without_arguments = operation.argument
    made = f"{operands[0]}({operands[1]}, {operands[2]})"
    if without_arguments:
        # in the entry `super()` would find neither class nor receiver; another callable is given nothing
        made = f"({made} if {operands[0]} is {bind(super, 'super')} else {operands[0]}())"
    text = f"{RESULT} = {made}.{name}"
    pushes = (("", RESULT) if NULL_FIRST else (RESULT, "")) if is_method else (RESULT,)
    return NativeForm((text,), (Outcome(pushes),))


def _parenthesized(write: NativeWriter) -> NativeWriter:
    """The same operation, with numbers among its operands in parentheses: `3.name` is no attribute."""

    def write_safely(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
        safe = [f"({one})" if one and not one[0].isalpha() and one[0] != "_" else one for one in operands]
        return write(operation, safe, bind)

    return write_safely


ROWS.native(Kind.LOAD_ATTRIBUTE, _parenthesized(expression(lambda operation: f"{{0}}.{operation.argument}")))
ROWS.native(Kind.LOAD_METHOD, _parenthesized(_method_form))
ROWS.native(
    Kind.STORE_ATTRIBUTE, _parenthesized(statement(lambda operation: f"{{1}}.{operation.argument} = {{0}}"))
)
ROWS.native(
    Kind.DELETE_ATTRIBUTE, _parenthesized(statement(lambda operation: f"del {{0}}.{operation.argument}"))
)
ROWS.native(Kind.LOAD_SUPER_ATTRIBUTE, _super_form)
