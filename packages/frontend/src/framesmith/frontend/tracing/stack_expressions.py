"""What an unnamed value on the stack is in the user's program: the expression that computed it.

    return x * random.random()      at the end of the call, slot 0 is `x` and slot 1 is `random.random()`

The last operation before an index that wrote the slot is searched backwards, over the stack depths of `bytecode.meaning`.
For texts only: where several branches meet, the one that is written last is shown.
"""

import ast
import functools
from types import CodeType
from typing import Final

from framesmith.bytecode.instruction import Position
from framesmith.bytecode.meaning import stack_depths
from framesmith.bytecode.operation import Kind, Operation
from framesmith.bytecode.operation_effects import effect, slots_taken
from framesmith.frontend.tracing.machine import reading_of
from framesmith.frontend.tracing.opcodes.catalog import OPCODES
from framesmith.frontend.user_lines import source_of, whole_source_of

_OUTERMOST: Final = ".0"
"""The variable of a generator expression that holds the iterator of its first `for`."""
_depths = functools.lru_cache(maxsize=64)(lambda code: stack_depths(reading_of(code)))


def stack_expression(code: CodeType, index: int, slot: int) -> str | None:
    """The source of the expression whose value is in a slot of the stack before the operation `index`; None if unknown."""
    operation = _writer_of(code, index, slot)
    if operation is None:
        return None
    text = position_text(code, operation.position)
    is_item = operation.kind is Kind.FOR_ITER
    if text is None or not (is_item or operation.kind is Kind.GET_ITER or operation.argument == _OUTERMOST):
        return text
    # the position of the operations at the head of a loop is that of the whole loop, on newer versions that of the iterable
    text = _iterable_in(_position_source(code, operation.position)) or text
    return f"an item of {text}" if is_item else f"iter({text})"


def _iterable_in(source: str) -> str | None:
    """What the loop goes through whose whole source this is; None for another text, and for a comprehension with several loops."""
    try:
        statement = ast.parse(source).body[0]
    except (SyntaxError, IndexError):
        return None
    loop = statement.value if isinstance(statement, ast.Expr) else statement
    if isinstance(loop, ast.For | ast.AsyncFor):
        return ast.get_source_segment(source, loop.iter)
    if isinstance(loop, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
        return ast.get_source_segment(source, loop.generators[0].iter) if len(loop.generators) == 1 else None
    return None


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


def _position_source(code: CodeType, position: Position) -> str:
    line, end_line, column, end_column = position
    if line is None or end_line is None or column is None or end_column is None:
        return ""
    return whole_source_of(code.co_filename, line, end_line, column, end_column)


def position_text(code: CodeType, position: Position) -> str | None:
    """The source of a position, from the first line of it; None where it is not known."""
    line, end_line, column, end_column = position
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return source_of(code.co_filename, line, end_line, column, end_column)
