"""Notes new entries, graph breaks and recompilations in the history, the counters and the logs."""

from collections.abc import Sequence
from dataclasses import replace

from framesmith.frontend import events
from framesmith.frontend.build_entry import BuiltEntry
from framesmith.frontend.cache.user_names import UserNames
from framesmith.frontend.generated.entry import Entry
from framesmith.frontend.reports import report_changes, report_entry
from framesmith.frontend.user_lines import UserLocation, stack_text
from framesmith.graph import GraphBreak
from framesmith.guards import Examination, Failure


def record_entry(
    history: events.History, built: BuiltEntry, entry: Entry, names: UserNames, seconds: float
) -> events.EntryRecord:
    """Add a new entry to the history and the counters, and report it and its graph break."""
    module = built.graph.graph_module if built.graph is not None else None
    operators = 0
    if module is not None:
        operators = sum([node.op in ("call_function", "call_method") for node in module.graph.nodes])
        events.counters["stats"]["graphs"] += 1
        events.counters["stats"]["operators"] += operators
    events.counters["stats"]["entries"] += 1
    record = events.EntryRecord(
        names.function,
        names.begins,
        built.location.line,
        operators,
        events.GuardTexts(entry.guards, names.texts),
        module,
        entry.source,
        seconds,
        runs_natively=built.runs_natively,
    )
    history.entries.append(record)
    report_entry(record)
    report_changes(names.function, ((names.text(name), place) for name, place in built.changes))
    if built.reason is not None:
        record_break(
            history,
            _in_words_of_user(built.reason, names),
            built.location,
            built.stack,
            record.title() if built.runs_natively else None,
        )
    return record


def _in_words_of_user(reason: GraphBreak, names: UserNames) -> GraphBreak:
    """The same graph break, with values named by the expressions of the user's program."""
    return GraphBreak(reason.kind, names.text(reason.detail), reason.module)


def record_shared(
    history: events.History, built: BuiltEntry, names: UserNames, record: events.EntryRecord
) -> None:
    """Add an entry that another function was compiled for to the history of one that uses it as well."""
    history.entries.append(replace(record, trace_seconds=0.0, is_shared=True))
    events.counters["stats"]["shared_entries"] += 1
    if built.reason is not None:
        reason = _in_words_of_user(built.reason, names)
        # neither counted nor logged again: the break was met once, when the entry was compiled
        history.add_break(make_break_record(reason, built.location, built.stack))


def record_break(
    history: events.History,
    reason: GraphBreak,
    location: UserLocation,
    stack: Sequence[UserLocation],
    uncompiled: str | None = None,
) -> None:
    """Note a graph break, unless one of its kind was noted for the same line. `uncompiled`: the function of which nothing is compiled for
    it."""
    record = make_break_record(reason, location, stack, uncompiled)
    if history.add_break(record):
        events.count_break(reason)
        events.log("graph_breaks", "%s:%d in %s: %s\n%s", *location, record.text, record.user_stack)


def make_break_record(
    reason: GraphBreak,
    location: UserLocation,
    stack: Sequence[UserLocation],
    uncompiled: str | None = None,
) -> events.BreakRecord:
    """A graph break as it is kept."""
    text = str(reason)
    if uncompiled is not None:
        text += f"\n  what it costs: {events.UNCOMPILED_TEXT.format(uncompiled)}"
    is_whole = uncompiled is not None
    return events.BreakRecord(reason.kind.id, reason.detail, text, *location, stack_text(stack), is_whole)


def log_unshared(names: UserNames, failures: Sequence[Failure | None]) -> None:
    """Log why the entries of other functions of the same code do not serve."""
    first = failures[0]
    text = "it was made under other settings" if first is None else names.text(first.text)
    said = "%s: an entry of another function of its code does not serve: %s"
    events.log("recompiles", said, names.function, add_others(text, len(failures) - 1, "other"))


def add_others(text: str, count: int, which: str) -> str:
    """Why one entry does not fit, and how many more there are."""
    if not count:
        return text
    return f"{text}; {f'{count} {which} entries do' if count > 1 else f'1 {which} entry does'} not fit either"


def record_recompile(history: events.History, names: UserNames, misses: Sequence[Examination]) -> list[str]:
    """Note why a call is compiled once more: what the nearest entry, with the fewest failed guards, does not allow.

    Every entry's first reason is returned, the newest entry's first, which is the one that is logged: why the older ones did not
    fit was logged when those after them were made. `misses`: of each entry.
    """
    newest_first = [one.failures for one in reversed(misses) if one.failures]
    if not newest_first:
        return []
    reasons = [_reason_text(names, failures[0]) for failures in newest_first]
    # `min` keeps the first of equals, which is the newest
    nearest = min(newest_first, key=len)
    history.recompiles.append(f"{names.function}: {_reason_text(names, nearest[0])}")
    events.counters["stats"]["recompile_reasons"] += 1
    events.log("recompiles", "%s: %s", names.function, add_others(reasons[0], len(reasons) - 1, "older"))
    return [f"{names.function}: {text}" for text in reasons]


def _reason_text(names: UserNames, failure: Failure) -> str:
    return events.add_reading_line(names.text(failure.text), failure.user_frame)
