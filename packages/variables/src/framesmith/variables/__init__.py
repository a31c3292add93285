"""Variable trackers: a symbolic stand-in for each kind of Python value that a traced program touches.

The public names: the mechanism that every tracker shares, and `Wrapper`, which makes trackers of real values. The rows for
single types and callables are filled in by `framesmith.variables.catalog`, which the symbolic interpreter imports.
"""

from framesmith.variables.core import (
    CALLABLES,
    NULL,
    AmbientState,
    Arguments,
    Constant,
    InlineCall,
    Keywords,
    Lazy,
    MutationLog,
    Null,
    ObservedException,
    PendingCall,
    PendingFrame,
    PendingStep,
    Row,
    Setting,
    Table,
    TraceContext,
    Tracker,
    Wrap,
    Writer,
    fold,
    from_python,
    is_constant_type,
    new_exception,
    raise_observed,
    register_builder,
    register_exception_maker,
)
from framesmith.variables.core.reach import reachable
from framesmith.variables.core.wrap_rules import WRAP_RULES, lazy
from framesmith.variables.wrapping.wrap import Wrapper

__all__ = [
    "AmbientState",
    "Arguments",
    "CALLABLES",
    "Constant",
    "InlineCall",
    "Keywords",
    "Lazy",
    "MutationLog",
    "NULL",
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
    "WRAP_RULES",
    "Wrap",
    "Wrapper",
    "Writer",
    "fold",
    "from_python",
    "is_constant_type",
    "lazy",
    "new_exception",
    "raise_observed",
    "reachable",
    "register_builder",
    "register_exception_maker",
]
