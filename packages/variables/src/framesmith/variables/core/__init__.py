"""What every tracker shares: slots, protocols, tables, the mutation log, constants."""

from framesmith.variables.core.ambient import AmbientState, Setting
from framesmith.variables.core.base import (
    Arguments,
    InlineCall,
    Keywords,
    MutationLog,
    PendingCall,
    PendingFrame,
    PendingStep,
    TraceContext,
    Tracker,
    Wrap,
    Writer,
)
from framesmith.variables.core.constant import NULL, Constant, Null, is_constant_type
from framesmith.variables.core.folding import fold, from_python, register_builder
from framesmith.variables.core.lazy import Lazy
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.raising import new_exception, raise_observed, register_exception_maker
from framesmith.variables.core.table import CALLABLES, Row, Table

__all__ = [
    "CALLABLES",
    "NULL",
    "AmbientState",
    "Arguments",
    "Constant",
    "InlineCall",
    "Keywords",
    "Lazy",
    "MutationLog",
    "Null",
    "ObservedException",
    "PendingCall",
    "PendingFrame",
    "PendingStep",
    "Row",
    "Setting",
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
    "register_builder",
    "register_exception_maker",
]
