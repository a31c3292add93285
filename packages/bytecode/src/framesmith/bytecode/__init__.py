"""Read, edit, write and verify CPython bytecode, with the standard library only. The public names of the package.

Modules whose function has the module's own name (`assemble`, `disassemble`, `text`, `verify`) give the function here:
`from framesmith.bytecode.assemble import argument_numbers` still reaches what else they hold.
"""

from framesmith.bytecode.assemble import assemble
from framesmith.bytecode.bind import bind_constants
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.difference import diff
from framesmith.bytecode.disassemble import disassemble
from framesmith.bytecode.emitter import Emitter
from framesmith.bytecode.errors import (
    AssembleError,
    BytecodeError,
    DisassembleError,
    ResumeError,
    TextError,
    UnknownOpcode,
)
from framesmith.bytecode.insert import insert_at_start, insert_before, insert_on_edge
from framesmith.bytecode.instruction import NOWHERE, ExceptionRegion, Instruction, Position
from framesmith.bytecode.meaning import Handler, Kind, Operation, Reading, read, stack_depths
from framesmith.bytecode.relocate import relocate_lines
from framesmith.bytecode.resume import ResumeLayout, StackItem, resume_function
from framesmith.bytecode.stack_contents import stack_items
from framesmith.bytecode.text import CodeText, read_text, text
from framesmith.bytecode.verify import Problem, verify, verify_parts

__all__ = [
    "NOWHERE",
    "AssembleError",
    "BytecodeError",
    "CodeParts",
    "CodeText",
    "DisassembleError",
    "Emitter",
    "ExceptionRegion",
    "Handler",
    "Instruction",
    "Kind",
    "Operation",
    "Position",
    "Problem",
    "Reading",
    "ResumeError",
    "ResumeLayout",
    "StackItem",
    "TextError",
    "UnknownOpcode",
    "assemble",
    "bind_constants",
    "diff",
    "disassemble",
    "insert_at_start",
    "insert_before",
    "insert_on_edge",
    "read",
    "read_text",
    "relocate_lines",
    "resume_function",
    "stack_depths",
    "stack_items",
    "text",
    "verify",
    "verify_parts",
]
