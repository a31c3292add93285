"""Sources, claims, guards, and the one generated check an entry rests on. The public names of the package."""

from framesmith.guards.failure import (
    MISSES,
    Examination,
    Failure,
    ValueChange,
    all_failures,
    examine,
    first_failure,
)
from framesmith.guards.families import Family, Member
from framesmith.guards.guard_set import GuardSet
from framesmith.guards.guards import Guard, Reason
from framesmith.guards.names import Names, PlainNames
from framesmith.guards.program import Program, compile_guards
from framesmith.guards.scope import Scope
from framesmith.guards.sources.base import Source
from framesmith.guards.verify import verify_guards, verify_program

__all__ = [
    "MISSES",
    "Failure",
    "Family",
    "Guard",
    "GuardSet",
    "Member",
    "Names",
    "PlainNames",
    "Program",
    "Reason",
    "Scope",
    "Source",
    "ValueChange",
    "examine",
    "Examination",
    "all_failures",
    "compile_guards",
    "first_failure",
    "verify_guards",
    "verify_program",
]
