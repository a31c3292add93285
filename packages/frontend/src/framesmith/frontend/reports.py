"""What the user is told while functions are compiled: log topics about entries, the warning about a bug of ours."""

from collections.abc import Iterable
from types import CodeType
from typing import Final

from torch import fx

from framesmith.frontend import events
from framesmith.frontend.errors import TracingBugWarning
from framesmith.frontend.user_warnings import warn


def report_entry(record: events.EntryRecord) -> None:
    """Log what the topics ask for about a new entry."""
    if record.graph is not None and events.is_logged("graph"):
        events.log("graph", "%s\n%s", record.function, graph_text(record.graph))
    for note in record.notes:
        events.log("graph", "%s: %s", record.title(), note)
    if events.is_logged("guards"):
        events.log("guards", "%s\n  %s", record.function, "\n  ".join(record.guard_lines()))
    if events.is_logged("code"):
        events.log("code", "%s\n%s", record.function, record.source)


def graph_text(graph: object) -> str:
    """The code of a graph with the type and the sizes of each value, and the lines of the program, as torch writes it."""
    if not isinstance(graph, fx.GraphModule):
        return ""
    return graph.print_readable(print_output=False)


def report_changes(function: str, changes: Iterable[tuple[str, str]]) -> None:
    """Log what an entry changes that outlives it: the changes are replayed after the graph. `changes`: names, and where each was."""
    for name, place in changes:
        events.log("side_effects", "%s: %s is changed after the graph%s", function, name, place)


def report_dynamic(function: str, sources: Iterable[str]) -> None:
    """Log what is symbolic from now on, since it was seen to change."""
    for source in sources:
        events.log("dynamic", "%s: %s is symbolic from now on", function, source)


RUNS_UNCOMPILED: Final = "The function runs uncompiled."
GOES_ON: Final = (
    "An operation of the program raised before; that exception goes on, without what the program did between the "
    "beginning of the graph and the operation."
)


def report_bug(error: Exception, code: CodeType, then: str = RUNS_UNCOMPILED) -> None:
    """Warn the user of a bug in framesmith, with what is needed to report it. `then`: what the call does."""
    warn(
        f"framesmith has a bug: tracing {code.co_qualname} ({code.co_filename}:{code.co_firstlineno}) raised "
        f"{type(error).__name__}: {error}. {then} Set frontend.config.raise_bugs = True "
        "to see the whole traceback, and please report it.",
        TracingBugWarning,
    )
