"""What every tracker shares: slots, protocols, tables, the mutation log, constants."""

from framesmith.variables.core.ambient import AmbientState, Setting
from framesmith.variables.core.base import (
    Arguments,
    InlineCall,
    Keywords,
    PendingCall,
    PendingFrame,
    PendingStep,
    SkippedFrame,
    TraceContext,
    Tracker,
    Wrap,
    Writer,
)
from framesmith.variables.core.constant import NULL, Constant, Null, is_constant_type
from framesmith.variables.core.folding import fold, from_python
from framesmith.variables.core.lazy import Lazy
from framesmith.variables.core.mutation_log import MutationLog
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.raising import new_exception, raise_observed
from framesmith.variables.core.registry import DuplicateRow, Priority, Registry, Table
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import CALLS, Row, row_of

__all__ = [
    "CALLS",
    "NULL",
    "AmbientState",
    "Arguments",
    "Constant",
    "DuplicateRow",
    "InlineCall",
    "Keywords",
    "Lazy",
    "MutationLog",
    "Null",
    "ObservedException",
    "PendingCall",
    "PendingFrame",
    "PendingStep",
    "Priority",
    "Registry",
    "Row",
    "Rows",
    "Setting",
    "SkippedFrame",
    "Table",
    "TraceContext",
    "Tracker",
    "Wrap",
    "Writer",
    "fold",
    "from_python",
    "is_constant_type",
    "new_exception",
    "raise_observed",
    "row_of",
]
