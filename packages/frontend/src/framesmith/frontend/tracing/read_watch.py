"""What an operation may read, told to those that watch what a stretch of the trace reads (`MutationLog.watch_reads`).

All that an operation reads lies on the stack, except for variables with a place of their own: globals and cells.
"""

from collections.abc import Sequence
from typing import Final

from framesmith.bytecode.meaning import Kind
from framesmith.frontend.tracing.machine import Frame
from framesmith.frontend.tracing.opcodes.stack import name_of
from framesmith.variables.core import Tracker
from framesmith.variables.core.mutation_log import ReadWatcher
from framesmith.variables.tensors.tensors import TensorTracker

_GLOBALS: Final = frozenset({Kind.LOAD_GLOBAL, Kind.LOAD_NAME})
_ATTRIBUTES: Final = frozenset({Kind.LOAD_ATTRIBUTE, Kind.LOAD_METHOD})


def show_reads(frame: Frame, readers: Sequence[ReadWatcher[Tracker]]) -> None:
    """Tell what the next operation of the frame may read."""
    operation = frame.reading.operations[frame.index]
    for reader in readers:
        reader.see(frame.stack)
        if operation.kind in _GLOBALS:
            reader.see_name(frame.namespace.pending, name_of(operation))
        elif operation.kind is Kind.LOAD_CELL:
            reader.see([frame.cells[name_of(operation)]])
        elif operation.kind in _ATTRIBUTES:
            holder = frame.stack[-1].realize()
            if isinstance(holder, TensorTracker):
                reader.see_name(holder.own, name_of(operation))
