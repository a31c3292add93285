"""What happened: counters, logs by topic, and the record of one compiled function.

A record says itself what it is; `explain` puts the records of a function together.
"""

import logging
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final, final

from framesmith.frontend.near_misses import near_miss
from framesmith.graph import GraphBreak
from framesmith.graph.backends.captured_only import AS_CAPTURED
from framesmith.graph.backends.stores_behind import STORED
from framesmith.guards import Guard, GuardSet
from framesmith.guards.kinds import EqualTo, KeysAre, LengthIs, NotEqualTo, ShapeExpression, TensorIs
from framesmith.guards.words import write_count

TOPICS: Final = ("graph_breaks", "recompiles", "dynamic", "side_effects", "guards", "graph", "code")
"""What `FRAMESMITH_LOGS` may name: breaks; why no entry fits; what becomes symbolic; changes that are replayed after a
graph; what an entry rests on; its graph; its generated code."""
_FORMER: Final = {"bytecode": "code"}
"""Former names of topics."""

MOST_GUARDS: Final = 20
"""So many guards of an entry are shown unless all are asked for. A model of twelve layers has more than a thousand."""
AS_CAPTURED_TEXT: Final = "the graph runs as it was captured, since {}"

UNCOMPILED_TEXT: Final = "nothing of {} is compiled for such calls"
"""What an entry without a graph and guards does."""

_PARENT: Final = "framesmith"
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


@final
@dataclass(frozen=True, slots=True)
class BreakRecord:
    """One graph break: its kind, what it was about, and where in the user's program. `is_whole`: nothing of the function is compiled for it."""

    kind: str
    detail: str
    text: str
    file: str
    line: int
    function: str
    user_stack: str
    is_whole: bool = False

    def block(self, number: int | None = None) -> str:
        """What `explain` prints for it: the place, what broke and why, what to do, and the user's frames."""
        title = "break" if number is None else f"break {number}"
        head = f"{title} at {self.file}:{self.line} in {self.function}:\n  {self.text}"
        return f"{head}\n{self.user_stack}".rstrip()

    def __str__(self) -> str:
        """The block that `explain` prints for it, without a number."""
        return self.block()


def _rank(guard: Guard) -> int:
    if isinstance(guard.claim, TensorIs | ShapeExpression):
        return 0
    return 1 if isinstance(guard.claim, EqualTo | NotEqualTo | LengthIs | KeysAre) else 2


@final
class GuardTexts:
    """The guards of an entry as texts, made when somebody asks for them: a model has thousands. It is held where the entry is."""

    def __init__(self, guards: GuardSet, rename: Callable[[Iterable[str]], tuple[str, ...]]) -> None:
        self._made_of: tuple[GuardSet, Callable[[Iterable[str]], tuple[str, ...]]] | None = guards, rename
        self._lines: tuple[tuple[str, ...], tuple[str | None, ...], tuple[int, ...]] = (), (), ()

    @property
    def lines(self) -> tuple[tuple[str, ...], tuple[str | None, ...], tuple[int, ...]]:
        """The texts, the user's line that asked for each guard, and what it is about: 0 for tensors and sizes, 1 for values, 2 for all else."""
        made_of = self._made_of
        if made_of is not None:
            guards, rename = made_of
            texts = rename(guard.text() for guard in guards)
            places = tuple(guard.reason.user_frame for guard in guards)
            self._lines = texts, places, tuple(_rank(guard) for guard in guards)
            # the texts are enough from here on: the guards hold objects of the user
            self._made_of = None
        return self._lines


@final
@dataclass(frozen=True, slots=True)
class EntryRecord:
    """One compiled entry. `is_shared`: it was compiled for another function of the same code. `runs_natively`: it has no graph, and runs
    the function as it is."""

    function: str
    begins: str  # where: a place in the user's program
    line: int
    operators: int
    checks: "GuardTexts"
    graph: object
    source: str
    trace_seconds: float
    is_shared: bool = False
    runs_natively: bool = False

    @property
    def guards(self) -> tuple[str, ...]:
        """The guards as texts."""
        return self.checks.lines[0]

    @property
    def places(self) -> tuple[str | None, ...]:
        """Of each guard: the user's line that asked for it."""
        return self.checks.lines[1]

    @property
    def as_captured(self) -> str | None:
        """Why its graph runs as it was captured, though the backend would replace its operations; None if it does not."""
        meta: dict[str, str] = getattr(self.graph, "meta", {})
        return meta.get(AS_CAPTURED)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of its graph besides the graph itself."""
        stored: tuple[str, ...] = getattr(self.graph, "meta", {}).get(STORED, ())
        captured = () if self.as_captured is None else (AS_CAPTURED_TEXT.format(self.as_captured),)
        return (
            *captured,
            *(f"behind the graph, {name}.data is replaced by one of its results" for name in stored),
        )

    def title(self) -> str:
        """The function and where the entry begins."""
        return f"{self.function} {self.begins}"

    def block(
        self, number: int | None = None, known: Set[str] = frozenset(), most_guards: int | None = MOST_GUARDS
    ) -> str:
        """What `explain` prints for it: its title, and its guards.

        Only those that are not `known` from earlier entries of the same code, unless all are wanted (`most_guards` is None). Of too many
        those about tensors, sizes and values are shown.
        """
        shared = ", shared with a function that was compiled before" if self.is_shared else ""
        count = write_count(len(self.guards), "guard")
        head = "entry of" if number is None else f"entry {number},"
        if self.runs_natively:
            return f"{head} {self.title()}, runs uncompiled: see the breaks for the reason"
        title = f"{head} {self.title()}{shared}, has {count}"
        first = [f"  {note}" for note in self.notes]
        if most_guards is None:
            return "\n".join([f"{title}:", *first, *(f"  {guard}" for guard in self.guard_lines())])
        all_lines = zip(self.guard_lines(), *self.checks.lines[::2], strict=True)
        ranked = [(rank, line) for line, text, rank in all_lines if text not in known]
        if len(ranked) > most_guards:  # what differs from call to call as a rule comes first
            ranked.sort(key=itemgetter(0))
        new = [line for _, line in ranked]
        lines = [f"{title}, {len(new)} of them in no entry before:" if known else f"{title}:"]
        lines += [*first, *(f"  {guard}" for guard in new[:most_guards])]
        if len(new) > most_guards:
            more = len(new) - most_guards
            lines.append(
                f"  and {more} more: `.text(most_guards=None)` has all, `.guards` has them as a tuple"
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        """The block that `explain` prints for it, without a number."""
        return self.block()

    def guard_lines(self) -> list[str]:
        """The guards with the lines that asked for them."""
        return [add_reading_line(text, place) for text, place in zip(self.guards, self.places, strict=True)]


def add_reading_line(text: str, place: str | None) -> str:
    """A text about a value, and the user's line that read the value."""
    return text if place is None else f"{text} (read at {place})"


def collapse_repeats(lines: Iterable[str]) -> list[str]:
    """Each line once, with the number of times it is there."""
    return [line if count == 1 else f"{line} ({count} times)" for line, count in Counter(lines).items()]


@final
@dataclass(slots=True)
class History:
    """Everything that one compiled function went through."""

    entries: list[EntryRecord] = field(default_factory=list)
    breaks: list[BreakRecord] = field(default_factory=list)
    recompiles: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _seen: set[tuple[str, str, int, bool]] = field(default_factory=set)

    def add_break(self, record: BreakRecord) -> bool:
        """Keep a break unless one of its kind, with the same cost, was kept for the same line; returns whether it was new."""
        key = (record.kind, record.file, record.line, record.is_whole)
        if key in self._seen:
            return False
        self._seen.add(key)
        self.breaks.append(record)
        return True


def find_enabled_topics() -> frozenset[str]:
    """Topics named in FRAMESMITH_LOGS; an unknown one is reported once and ignored."""
    text = os.environ.get("FRAMESMITH_LOGS", "")
    asked = {_FORMER.get(topic.strip(), topic.strip()) for topic in text.split(",") if topic.strip()}
    unknown = asked.difference(TOPICS)
    if unknown:
        said = "; ".join(f"{topic!r}{near_miss(topic.lower(), TOPICS)}" for topic in sorted(unknown))
        _logger("setup").warning("FRAMESMITH_LOGS: unknown %s; there are %s", said, ", ".join(TOPICS))
    return frozenset(asked & set(TOPICS))


# `getLogger` takes the lock of `logging`, which an interruption there leaves taken, for all other threads
_LOGGERS: Final = {topic: logging.getLogger(f"{_PARENT}.{topic}") for topic in (*TOPICS, "setup")}


def _logger(topic: str) -> logging.Logger:
    return _LOGGERS[topic]


def configure_logs() -> None:
    """Let the topics of FRAMESMITH_LOGS through to standard error, and no other to the handlers of a program that logs at INFO."""
    parent = logging.getLogger(_PARENT)
    # a level that the program has set for all topics, or for one, stays
    if parent.level == logging.NOTSET:
        parent.setLevel(logging.WARNING)
    topics = find_enabled_topics()
    if not topics:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("[%(name)s] %(message)s"))
    for topic in topics:
        logger = _logger(topic)
        logger.setLevel(logging.INFO)
        # a handler that the user has set up stays the only one
        if not logger.handlers:
            logger.addHandler(handler)
            # or the root logger prints the message a second time
            logger.propagate = False


def log(topic: str, message: str, *arguments: object) -> None:
    """Log one message of a topic."""
    _logger(topic).info(message, *arguments)


def is_logged(topic: str) -> bool:
    """Whether a message of this topic would be seen (so that its text is worth building)."""
    return _logger(topic).isEnabledFor(logging.INFO)


def count_break(reason: GraphBreak) -> None:
    """Count a break under its kind."""
    counters["graph_break"][reason.kind.id] += 1
