"""Binary, unary and comparison operators, subscripts and slices.

What CPython asks of the operands, and in which order: `variables.operations`.
"""

from collections.abc import Callable
from typing import Final

from framesmith.bytecode.meaning import Kind, Operation
from framesmith.frontend.tracing.machine import Machine
from framesmith.frontend.tracing.opcodes.stack import count_argument
from framesmith.frontend.tracing.opcodes.table import (
    RESULT,
    Bind,
    NativeForm,
    NativeWriter,
    OpcodeRows,
    Outcome,
)
from framesmith.variables.builtin_types.slices import SliceTracker
from framesmith.variables.callables.operator_calls import begin_binary, begin_subscript, begin_unary
from framesmith.variables.core import Constant, Tracker
from framesmith.variables.operations.compare import compare, is_one_object
from framesmith.variables.operations.truth import known_truth, truth_of

ROWS: Final = OpcodeRows()


@ROWS.opcode(Kind.BINARY)
def binary_operator(machine: Machine, operation: Operation) -> None:
    """`a + b` or `a += b`."""
    symbol, in_place = symbol_and_flag(operation)
    left, right = machine.frame.pop_many(2)
    machine.deliver(begin_binary(machine.tx, symbol, left, right, in_place))


@ROWS.opcode(Kind.UNARY)
def unary_operator(machine: Machine, operation: Operation) -> None:
    """`-a`, `+a`, `~a`, `not a`."""
    operand = machine.frame.pop().realize()
    if operation.argument == "not":
        machine.frame.push(Constant(not known_truth(machine.tx, operand)))
    else:
        assert isinstance(operation.argument, str)
        machine.deliver(begin_unary(machine.tx, operation.argument, operand))


@ROWS.opcode(Kind.COMPARE)
def comparison(machine: Machine, operation: Operation) -> None:
    """`a < b` and the other five; on 3.13 perhaps turned into a bool at once."""
    symbol, to_bool = symbol_and_flag(operation)
    left, right = machine.frame.pop_many(2)
    result = compare(machine.tx, symbol, left, right)
    machine.frame.push(boolean(machine, result) if to_bool else result)


def boolean(machine: Machine, operand: Tracker) -> Tracker:
    """`bool(operand)`; a truth that depends on data stays a tracker, which the jump that follows decides about."""
    truth = truth_of(machine.tx, operand)
    return Constant(truth) if isinstance(truth, bool) else truth


@ROWS.opcode(Kind.TO_BOOL)
def to_bool(machine: Machine, operation: Operation) -> None:
    """`bool(a)` before a jump (3.13)."""
    machine.frame.push(boolean(machine, machine.frame.pop()))


@ROWS.opcode(Kind.IS)
def identity(machine: Machine, operation: Operation) -> None:
    """`a is b`."""
    left, right = machine.frame.pop_many(2)
    machine.frame.push(Constant(is_one_object(machine.tx, left, right) != bool(operation.argument)))


@ROWS.opcode(Kind.CONTAINS)
def membership(machine: Machine, operation: Operation) -> None:
    """`a in b`."""
    item, container = machine.frame.pop_many(2)
    result = container.realize().contains(machine.tx, item.realize())
    machine.frame.push(Constant(known_truth(machine.tx, result) != operation.argument))


@ROWS.opcode(Kind.SUBSCRIPT)
def subscript(machine: Machine, operation: Operation) -> None:
    """`a[k]`."""
    container, key = machine.frame.pop_many(2)
    machine.deliver(begin_subscript(machine.tx, container, key))


@ROWS.opcode(Kind.STORE_SUBSCRIPT)
def store_subscript(machine: Machine, operation: Operation) -> None:
    """`a[k] = v`."""
    value, container, key = machine.frame.pop_many(3)
    container.realize().set_subscript(machine.tx, key.realize(), value)


@ROWS.opcode(Kind.DELETE_SUBSCRIPT)
def delete_subscript(machine: Machine, operation: Operation) -> None:
    """`del a[k]`."""
    container, key = machine.frame.pop_many(2)
    container.realize().delete_subscript(machine.tx, key.realize())


@ROWS.opcode(Kind.BINARY_SLICE)
def binary_slice(machine: Machine, operation: Operation) -> None:
    """`a[i:j]` (3.12+)."""
    container, start, stop = (value.realize() for value in machine.frame.pop_many(3))
    machine.frame.push(container.subscript(machine.tx, SliceTracker(start, stop, Constant(None))))


@ROWS.opcode(Kind.STORE_SLICE)
def store_slice(machine: Machine, operation: Operation) -> None:
    """`a[i:j] = v` (3.12+)."""
    value, container, start, stop = (value.realize() for value in machine.frame.pop_many(4))
    container.set_subscript(machine.tx, SliceTracker(start, stop, Constant(None)), value)


@ROWS.opcode(Kind.BUILD_SLICE)
def build_slice(machine: Machine, operation: Operation) -> None:
    """`slice(i, j[, k])` as subscripts write it."""
    parts = [value.realize() for value in machine.frame.pop_many(count_argument(operation))]
    start, stop, step = (*parts, Constant(None))[:3]
    machine.frame.push(SliceTracker(start, stop, step))


def symbol_and_flag(operation: Operation) -> tuple[str, bool]:
    """The argument of BINARY and COMPARE."""
    assert isinstance(operation.argument, tuple)
    symbol, flag = operation.argument
    return symbol, flag


def expression(template: Callable[[Operation], str]) -> NativeWriter:
    """An operation that is one Python expression over its operands."""

    def write(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
        text = template(operation).format(*operands)
        return NativeForm.of(text)

    return write


def statement(template: Callable[[Operation], str]) -> NativeWriter:
    """An operation that is one Python statement and pushes nothing."""

    def write(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
        return NativeForm((template(operation).format(*operands),))

    return write


def _write_binary(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    symbol, in_place = symbol_and_flag(operation)
    left, right = operands
    # through another variable: `a += b` would rebind the one that the handler and other frames may read
    if in_place:
        return NativeForm((f"{RESULT} = {left}", f"{RESULT} {symbol}= {right}"), (Outcome((RESULT,)),))
    return NativeForm.of(f"{left} {symbol} {right}")


def _compare_text(operation: Operation) -> str:
    symbol, as_bool = symbol_and_flag(operation)
    return f"True if {{0}} {symbol} {{1}} else False" if as_bool else f"{{0}} {symbol} {{1}}"


ROWS.native(Kind.BINARY, _write_binary)
# `~True` is computed by Python's compiler, which also gives the DeprecationWarning; an item of a list is not
ROWS.native(Kind.UNARY, expression(lambda op: "~[{0}][0]" if op.argument == "~" else f"{op.argument} {{0}}"))
ROWS.native(Kind.COMPARE, expression(_compare_text))
ROWS.native(Kind.TO_BOOL, expression(lambda operation: "True if {0} else False"))
ROWS.native(Kind.CONTAINS, expression(lambda op: "{0} not in {1}" if op.argument else "{0} in {1}"))
ROWS.native(Kind.IS, expression(lambda op: "{0} is not {1}" if op.argument else "{0} is {1}"))
ROWS.native(Kind.SUBSCRIPT, expression(lambda operation: "{0}[{1}]"))
ROWS.native(Kind.STORE_SUBSCRIPT, statement(lambda operation: "{1}[{2}] = {0}"))
ROWS.native(Kind.DELETE_SUBSCRIPT, statement(lambda operation: "del {0}[{1}]"))
ROWS.native(Kind.BINARY_SLICE, expression(lambda operation: "{0}[{1}:{2}]"))
ROWS.native(Kind.STORE_SLICE, statement(lambda operation: "{1}[{2}:{3}] = {0}"))
