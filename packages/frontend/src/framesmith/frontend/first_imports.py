"""First imports where a graph break is an error: they are made between two traces.

What a first import does otherwise: `tracing.opcodes.imports`.
"""

import importlib
from contextlib import suppress

from framesmith.frontend.errors import FullGraphError


def import_first(error: FullGraphError, imported: set[str]) -> bool:
    """Make the first import that is an error in a trace, before the next trace. False if it was made before, or is none."""
    module = error.reason.module
    if module is None or module in imported:
        return False
    imported.add(module)
    with suppress(Exception):  # a module that cannot be imported breaks the next trace as well
        importlib.import_module(module)
    return True
