"""How a trace ends: a closed union of four final classes, told apart with `match`.

    return y                 Finished(y)
    print(y)                 BreakBefore(reason)            the operation runs natively, a continuation resumes behind it
    del last_reference       ResumeHere(reason)             nothing runs natively, a continuation resumes behind it
    raise ValueError         RunRestNatively(None)          the frames run natively from here to their end

`exits` writes each of them as source text. Not here: when a trace ends (`interpreter`), and how one that has gone too
far is made again (`replanning`).
"""

from dataclasses import dataclass
from typing import TypeAlias, final

from framesmith.graph import GraphBreak
from framesmith.guards import GuardSet
from framesmith.variables.core import Tracker


@final
@dataclass(frozen=True, slots=True)
class Finished:
    """The outermost frame returned this value."""

    value: Tracker


@final
@dataclass(frozen=True, slots=True)
class BreakBefore:
    """The current operation of the innermost frame runs natively; the frames resume behind it, or in its handler.

    `makes_weak_references`: the operation was seen to make some to its operands, so their lifetimes are handed over.
    """

    reason: GraphBreak
    makes_weak_references: bool = False


@final
@dataclass(frozen=True, slots=True)
class ResumeHere:
    """Nothing runs natively. The frames resume at the next operation, and what they have let go of is freed before."""

    reason: GraphBreak


@final
@dataclass(frozen=True, slots=True)
class RunRestNatively:
    """All frames run natively from the current operation to their end.

    That is so where an exception leaves them, which is no graph break (`reason` is None), or cannot be traced to its
    handler. `raised`: the exception to begin with, which the operation would not raise natively in the same form.
    `uncaught`: what leaves the frames, as the last line of a traceback shows it; empty where it is not known.
    """

    reason: GraphBreak | None
    raised: Tracker | None = None
    uncaught: str = ""


NativeEnd: TypeAlias = BreakBefore | RunRestNatively
"""The ends at which something runs natively: those that a second trace can be told to stop with."""

TraceEnd: TypeAlias = Finished | BreakBefore | ResumeHere | RunRestNatively


@final
class EntryPostponed(Exception):
    """The call runs natively and makes no entry, since no other call is like it. Never seen by the user.

    `guards`: of the trace that was thrown away, if there was one, to learn from what differs in the next call.
    """

    def __init__(self, guards: GuardSet | None = None) -> None:
        super().__init__()
        self.guards = guards
