"""A guard set and a program as text for people: the table in a report, golden tests, logs."""

from framesmith.guards.guard_set import GuardSet
from framesmith.guards.guards import Guard
from framesmith.guards.program import Program
from framesmith.guards.words import a_type


def guard_table(guard_set: GuardSet) -> str:
    """One line a guard: what must hold, then why and for which line of the user."""
    rows = [(guard.text(), _reason(guard)) for guard in guard_set]
    width = min(max((len(claim) for claim, _ in rows), default=0), 72)
    return "\n".join(f"{claim:<{width}}  # {reason}".rstrip() for claim, reason in rows)


def program_text(program: Program) -> str:
    """The terms of the condition, one a line; what is preloaded; the constants by name."""
    lines = ["if:"]
    lines += [f"    {'and ' if index else ''}{term}" for index, term in enumerate(program.terms)] or [
        "    True"
    ]
    lines.append(f"load: {', '.join(program.loads) or 'nothing'}")
    lines.append("constants:")
    lines += [f"    {name} = {_shown(value)}" for name, value in program.constants.items()]
    return "\n".join(lines)


def _reason(guard: Guard) -> str:
    frame = guard.reason.user_frame
    return guard.reason.what if frame is None else f"{guard.reason.what} at {frame}"


def _shown(value: object) -> str:
    """Without addresses, so that two runs give the same text."""
    name = getattr(value, "__qualname__", None)
    if isinstance(name, str):
        return name
    if type(value).__repr__ is object.__repr__:
        return a_type(type(value))
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
