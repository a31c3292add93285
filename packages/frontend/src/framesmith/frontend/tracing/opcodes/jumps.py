"""Jumps, conditions and loops.

What iterates is the tracker's slot `iterate`.
"""

from typing import Final

from framesmith.bytecode.meaning import Kind, Operation
from framesmith.frontend.tracing.assertions import expected_truth
from framesmith.frontend.tracing.finalizers import drop_references
from framesmith.frontend.tracing.frame_roles import FrameRole
from framesmith.frontend.tracing.machine import Machine
from framesmith.frontend.tracing.opcodes.stack import count_argument
from framesmith.frontend.tracing.opcodes.table import RESULT, Bind, NativeForm, OpcodeRows, Outcome
from framesmith.variables.core import Constant, ObservedException
from framesmith.variables.operations.truth import known_truth, require_known, truth_of

ROWS: Final = OpcodeRows()


@ROWS.opcode(Kind.JUMP)
def jump(machine: Machine, operation: Operation) -> None:
    """Jump to the target."""
    machine.frames[-1].jump(operation.target)


@ROWS.opcode(Kind.POP_JUMP_IF)
def pop_jump_if(machine: Machine, operation: Operation) -> None:
    """Jump when the truth of the top is the argument."""
    truth = truth_of(machine.tx, machine.frame.pop())
    if truth is not True and truth is not False:
        truth = require_known(expected_truth(machine, operation, truth))
    if truth == operation.argument:
        machine.frame.jump(operation.target)


@ROWS.opcode(Kind.JUMP_IF_OR_POP)
def jump_if_or_pop(machine: Machine, operation: Operation) -> None:
    """`a or b` as a value (3.11)."""
    frame = machine.frame
    if known_truth(machine.tx, frame.stack[-1]) == operation.argument:
        frame.jump(operation.target)
    else:
        frame.pop()


@ROWS.opcode(Kind.POP_JUMP_IF_NONE)
def pop_jump_if_none(machine: Machine, operation: Operation) -> None:
    """Jump when `value is None` is the argument."""
    value = machine.frame.pop().realize()
    is_none = isinstance(value, Constant) and value.value is None
    if is_none == operation.argument:
        machine.frame.jump(operation.target)


@ROWS.opcode(Kind.GET_ITER)
def get_iter(machine: Machine, operation: Operation) -> None:
    """`iter(a)`."""
    machine.frame.push(machine.frame.pop().realize().iterate(machine.tx))


@ROWS.opcode(Kind.FOR_ITER)
def for_iter(machine: Machine, operation: Operation) -> None:
    """Push the next value, or leave the loop."""
    frame, slots = machine.frames[-1], count_argument(operation)
    try:
        value = frame.stack[-slots].realize().begin_advance(machine.tx)
    except ObservedException as error:
        if not error.ends_iteration:
            raise
        value = None
    if value is None:
        iterator = frame.pop_many(slots)[0]
        frame.jump(operation.target)
        drop_references(machine, [iterator])
    else:
        machine.deliver(value, FrameRole.LOOP)


def _truth_statement(operation: Operation, operand: str | None) -> tuple[tuple[str, ...], str]:
    """A statement that asks for the truth, by itself since it may raise, and the condition under which to jump."""
    # no `bool(...)`: the name may be another one in the user's globals
    return (f"{RESULT} = True if {operand} else False",), RESULT if operation.argument else f"not {RESULT}"


def _branch_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    asking, condition = _truth_statement(operation, operands[0])
    return NativeForm(asking, (Outcome((), operation.target, condition), Outcome()))


def _keep_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    asking, condition = _truth_statement(operation, operands[0])
    return NativeForm(asking, (Outcome((str(operands[0]),), operation.target, condition), Outcome()))


END = object()


def _for_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    end = bind(END, "end")
    nulls = ("",) * (len(operands) - 1)
    return NativeForm(
        (f"{RESULT} = {bind(next, 'next')}({operands[0]}, {end})",),
        (Outcome((), operation.target, f"{RESULT} is {end}"), Outcome((str(operands[0]), *nulls, RESULT))),
    )


ROWS.native(Kind.POP_JUMP_IF, _branch_form)
ROWS.native(Kind.JUMP_IF_OR_POP, _keep_form)
ROWS.native(Kind.FOR_ITER, _for_form)


def _iter_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    return NativeForm.of(f"{bind(iter, 'iter')}({operands[0]})")


ROWS.native(Kind.GET_ITER, _iter_form)
