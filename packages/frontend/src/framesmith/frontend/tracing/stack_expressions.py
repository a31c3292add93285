"""What an unnamed value on the stack is in the user's program: the expression that computed it.

    return x * random.random()      at the end of the call, slot 0 is `x` and slot 1 is `random.random()`

The last operation before an index that wrote the slot is searched backwards, over the stack depths of `bytecode.meaning`.
For texts only: where several branches meet, the one that is written last is shown.
"""

import functools
from types import CodeType

from framesmith.bytecode.instruction import Position
from framesmith.bytecode.meaning import stack_depths
from framesmith.bytecode.operation import Kind, Operation
from framesmith.bytecode.operation_effects import effect, slots_taken
from framesmith.frontend.tracing.machine import reading_of
from framesmith.frontend.tracing.opcodes.catalog import OPCODES
from framesmith.frontend.user_lines import source_of

_depths = functools.lru_cache(maxsize=64)(lambda code: stack_depths(reading_of(code)))


def stack_expression(code: CodeType, index: int, slot: int) -> str | None:
    """The source of the expression whose value is in a slot of the stack before the operation `index`; None if unknown."""
    operation = _writer_of(code, index, slot)
    return None if operation is None else position_text(code, operation.position)


def _writer_of(code: CodeType, index: int, slot: int) -> Operation | None:
    operations, depths = reading_of(code).operations, _depths(code)
    for number in range(min(index, len(operations)) - 1, -1, -1):
        before = depths[number]
        if before is None:
            continue
        operation = operations[number]
        change = effect(operation)
        taken = max(0, -change) if operation.kind not in OPCODES.natives else slots_taken(operation)
        if operation.kind is Kind.FOR_ITER:
            taken = 0  # the iterator stays where it is
        if before - taken <= slot < before + change:
            return operation
        if before <= slot:
            return None
    return None


def position_text(code: CodeType, position: Position) -> str | None:
    """The source of a position, from the first line of it; None where it is not known."""
    line, end_line, column, end_column = position
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return source_of(code.co_filename, line, end_line, column, end_column)
