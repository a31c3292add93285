"""The check, in tests, that every fact a trace read has a guard (`guards.facts` holds the rules)."""

from typing import final

from framesmith.frontend.dispatch import Entry
from framesmith.frontend.translator import Translator
from framesmith.frontend.user_stack import location
from framesmith.guards.facts import FactLog, uncovered


@final
class UnguardedRead(AssertionError):
    """A trace rests on something that may change without a new trace: a bug of ours."""


def new_log(translator: Translator) -> FactLog:
    """A log that knows the user's line."""

    def where() -> str:
        machine = translator.machine
        if not machine.frames:
            return ""
        file, line, name = location(machine.frames[-1])
        return f"{file}:{line} in {name}"

    return FactLog(where)


def check_facts(log: FactLog | None, entry: Entry) -> None:
    """Raise `UnguardedRead` that lists the reads no guard covers."""
    problems = [] if log is None else uncovered(log.facts.values(), entry.guards, entry.loads)
    if problems:
        raise UnguardedRead("no guard covers what the trace read:\n  " + "\n  ".join(problems))
