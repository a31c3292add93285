"""Operations that are never traced: the graph breaks and the frame runs natively from there."""

from typing import Final

from framesmith.bytecode.meaning import Kind, Operation
from framesmith.frontend.tracing.machine import Machine
from framesmith.frontend.tracing.opcodes.table import OpcodeRows
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import ASYNC_FRAME, UNSUPPORTED_OPCODE

ROWS: Final = OpcodeRows()


@ROWS.opcode(
    Kind.LOAD_CLASS_CELL,
    Kind.LOAD_LOCALS,
    Kind.LOAD_FROM_DICT_OR_GLOBALS,
    Kind.SETUP_ANNOTATIONS,
    Kind.IMPORT_STAR,
    Kind.PRINT_EXPR,
    Kind.CHECK_GROUP_MATCH,
    Kind.PREPARE_RERAISE_STAR,
    Kind.BUILD_TEMPLATE,
    Kind.BUILD_INTERPOLATION,
)
def break_at_operation(machine: Machine, operation: Operation) -> None:
    """Break the graph, naming the operation."""
    raise GraphBreak(UNSUPPORTED_OPCODE, f"{operation.kind.name} is not traced")


@ROWS.opcode(
    Kind.GET_AWAITABLE,
    Kind.GET_AITER,
    Kind.GET_ANEXT,
    Kind.END_ASYNC_FOR,
    Kind.BEFORE_ASYNC_WITH,
)
def break_at_coroutine(machine: Machine, operation: Operation) -> None:
    """Break the graph: frames of coroutines are never traced."""
    raise GraphBreak(ASYNC_FRAME, f"{operation.kind.name} is not traced")
