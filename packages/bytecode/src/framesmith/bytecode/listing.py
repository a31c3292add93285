"""`python -m framesmith.bytecode dis module:function`: the native instructions of a function, and what each of them does.

      0  RESUME 0
      1  LOAD_FAST 'x'                                 LOAD_LOCAL 'x'

The form that reads back is `text`; the reading itself is in `meaning`.
"""

import difflib
import pkgutil
from collections.abc import Iterator
from types import CodeType
from typing import Final

from framesmith.bytecode.disassemble import disassemble
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.meaning import read
from framesmith.bytecode.opcodes import KINDS, ArgumentKind
from framesmith.bytecode.operation import Kind, Operation

_MAY_BE_NONE: Final = (ArgumentKind.CONSTANT, ArgumentKind.COMMON)
"""Arguments for which None is a value, where it means elsewhere that there is no argument."""


def list_code(code: CodeType) -> Iterator[str]:
    """A line for each instruction: its index, name and argument, and the operations that it is read as."""
    parts, reading = disassemble(code), read(code)
    index_of = parts.instruction_indices()
    operations: dict[int, list[str]] = {}
    for operation in reading.operations:
        operations.setdefault(operation.instruction, []).append(
            _show_operation(operation, reading.operations)
        )
    for index, instruction in enumerate(parts.instructions):
        shown = _show_instruction(instruction, index_of)
        yield f"{index:4}  {shown:<45}  {'; '.join(operations.get(index, ()))}".rstrip()


def _show_instruction(instruction: Instruction, index_of: dict[Instruction, int]) -> str:
    if instruction.target is not None:
        return f"{instruction.name} -> {index_of[instruction.target]}"
    bare = instruction.argument is None and KINDS.get(instruction.name) not in _MAY_BE_NONE
    return instruction.name + ("" if bare else f" {instruction.argument!r}")


def _show_operation(operation: Operation, operations: tuple[Operation, ...]) -> str:
    bare = operation.argument is None and operation.kind is not Kind.LOAD_CONST
    argument = "" if bare else f" {operation.argument!r}"
    target = "" if operation.target is None else f" -> {operations[operation.target].instruction}"
    return f"{operation.kind.name}{argument}{target}"


def find_code(name: str) -> CodeType | None:
    """The code of the function that `module:function` names, or None; dots after the colon go through attributes."""
    try:
        found: object = pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        return None
    code = getattr(getattr(found, "__func__", found), "__code__", None)
    return code if isinstance(code, CodeType) else None


def _explain_missing(name: str) -> str:
    try:
        found: object = pkgutil.resolve_name(name)
    except AttributeError as error:
        near = difflib.get_close_matches(str(error.name), dir(error.obj), 1)
        return f"{error}" + (f", did you mean {near[0]!r}?" if near else "")
    except (ImportError, ValueError) as error:
        return str(error)
    return f"it is {type(found).__name__} {getattr(found, '__name__', '')}".rstrip()


def main(name: str) -> int:
    """Print the listing. Returns 2 where no function has this name, else 0."""
    code = find_code(name)
    if code is None:
        print(
            f"{name!r} names no function written in Python: {_explain_missing(name)}; write module:function, for example "
            "textwrap:dedent"
        )
        return 2
    print(f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno})")
    for line in list_code(code):
        print(line)
    return 0
