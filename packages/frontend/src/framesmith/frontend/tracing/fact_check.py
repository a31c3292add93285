"""The check, in tests, that every fact a trace read has a guard (`guards.facts` holds the rules)."""

from collections.abc import Sequence
from typing import final

from framesmith.frontend.tracing.interpreter import Interpreter
from framesmith.frontend.tracing.user_stack import location
from framesmith.guards import GuardSet, Source
from framesmith.guards.fact_log import FactLog
from framesmith.guards.facts import find_uncovered
from framesmith.guards.sources import is_made


@final
class UnguardedRead(AssertionError):
    """A trace rests on something that may change without a new trace: a bug of ours."""


def new_log(interpreter: Interpreter) -> FactLog:
    """A log that knows the user's line."""

    def where() -> str:
        machine = interpreter.machine
        if not machine.frames:
            return ""
        file, line, name = location(machine.frames[-1])
        return f"{file}:{line} in {name}"

    return FactLog(where)


def check_facts(log: FactLog | None, guards: GuardSet, loads: Sequence[Source]) -> None:
    """Raise `UnguardedRead` that lists the reads no guard covers."""
    facts = [] if log is None else [fact for fact in log.facts.values() if not is_made(fact.source)]
    problems = find_uncovered(facts, guards, loads) if facts else []
    if problems:
        raise UnguardedRead("no guard covers what the trace read:\n  " + "\n  ".join(problems))
