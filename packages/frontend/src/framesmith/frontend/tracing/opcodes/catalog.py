"""All opcode rows: importing this module fills the table. A table of contents, no logic."""

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

FAMILIES = (
    stack,
    names,
    attributes,
    operators,
    building,
    calls,
    jumps,
    functions,
    exceptions,
    imports,
    unsupported,
)
