"""The table of operations is complete, on the Python that runs the tests."""

import dis

import pytest

from framesmith.bytecode import operation_tables
from framesmith.bytecode.meaning import Kind
from framesmith.frontend.tracing.opcodes import catalog, table

# Instructions that the reader folds into others, or that only the specializing interpreter writes.
FOLDED = {
    "CACHE",
    "EXTENDED_ARG",
    "KW_NAMES",
    "PRECALL",
    "CALL",
    "RESERVED",
    "INTERPRETER_EXIT",
    "EXIT_INIT_CHECK",  # in a frame of CPython's own, never in a code object
    "ENTER_EXECUTOR",
    "TRACE_RECORD",  # 3.15: only while the JIT compiler records a trace
}


def test_every_operation_has_a_row() -> None:
    assert set(catalog.OPCODES.steps) == set(Kind)


def test_every_native_opcode_is_read_as_an_operation() -> None:
    known = {*operation_tables.PASSED, *operation_tables.FIXED, *operation_tables.RULES, *FOLDED}
    native = {
        name for name, number in dis.opmap.items() if number < 256 and not name.startswith("INSTRUMENTED")
    }
    assert native - known <= set()


def test_a_second_row_is_refused() -> None:
    more = table.OpcodeRows()
    more.opcode(Kind.NOP)(lambda machine, operation: None)
    with pytest.raises(table.DuplicateOpcode, match="nop"):
        table.OpcodeTable((*catalog.FAMILIES, more))


def test_a_second_native_form_is_refused() -> None:
    more = table.OpcodeRows()
    more.native(Kind.CALL, lambda operation, operands, bind: table.NativeForm(()))
    with pytest.raises(table.DuplicateOpcode, match="CALL"):
        table.OpcodeTable((*catalog.FAMILIES, more))
