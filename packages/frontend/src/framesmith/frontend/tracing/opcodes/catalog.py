"""The rows of all operations, family by family: the table of contents. A module that has rows is one line here."""

from typing import Final

from framesmith.frontend.tracing.opcodes import (
    attributes,
    building,
    calls,
    exceptions,
    functions,
    imports,
    jumps,
    names,
    operators,
    stack,
    unsupported,
)
from framesmith.frontend.tracing.opcodes.table import OpcodeRows, OpcodeTable

FAMILIES: Final[tuple[OpcodeRows, ...]] = (
    stack.ROWS,
    names.ROWS,
    attributes.ROWS,
    operators.ROWS,
    building.ROWS,
    calls.ROWS,
    jumps.ROWS,
    functions.ROWS,
    exceptions.ROWS,
    imports.ROWS,
    unsupported.ROWS,
)
OPCODES: Final = OpcodeTable(FAMILIES)
"""Built once for each process: a Python version is not chosen while it runs."""
