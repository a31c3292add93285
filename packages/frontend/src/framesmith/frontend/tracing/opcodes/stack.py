"""Stack shuffling and constants."""

from typing import Final

from framesmith.bytecode.meaning import Kind, Operation
from framesmith.frontend.tracing.finalizers import drop_references
from framesmith.frontend.tracing.machine import Machine
from framesmith.frontend.tracing.opcodes.table import Bind, NativeForm, OpcodeRows
from framesmith.variables.core import NULL

ROWS: Final = OpcodeRows()


@ROWS.opcode(Kind.NOP)
def nop(machine: Machine, operation: Operation) -> None:
    """Nothing to do."""


@ROWS.opcode(Kind.POP, Kind.END_FOR)
def pop(machine: Machine, operation: Operation) -> None:
    """Drop the top."""
    drop_references(machine, [machine.frame.pop()])


@ROWS.opcode(Kind.COPY)
def copy(machine: Machine, operation: Operation) -> None:
    """Push the n-th slot again."""
    frame = machine.frame
    frame.push(frame.stack[-count_argument(operation)])


@ROWS.opcode(Kind.SWAP)
def swap(machine: Machine, operation: Operation) -> None:
    """Exchange the top with the n-th slot."""
    stack = machine.frame.stack
    depth = count_argument(operation)
    stack[-1], stack[-depth] = stack[-depth], stack[-1]


@ROWS.opcode(Kind.PUSH_NULL)
def push_null(machine: Machine, operation: Operation) -> None:
    """Push NULL."""
    machine.frames[-1].push(NULL)


@ROWS.opcode(Kind.LOAD_CONST)
def load_const(machine: Machine, operation: Operation) -> None:
    """Push a constant of the code object."""
    machine.frame.push(machine.load_literal(operation.argument))


def _drop_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    return NativeForm(())


ROWS.native(Kind.POP, _drop_form)


def count_argument(operation: Operation) -> int:
    """The integer argument."""
    assert isinstance(operation.argument, int)
    return operation.argument


def name_of(operation: Operation) -> str:
    """The name argument."""
    assert isinstance(operation.argument, str)
    return operation.argument
