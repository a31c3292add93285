"""Texts of numbers that the trace has not read: written after the graph, so that no number is guarded.

    print(f"step {step}: {loss:.3f}")  ->  print("".join(("step ", format(step, ""), ": ", format(loss, ".3f"))))

An operation that needs such a text (as a key, in a comparison) reads the numbers then, and guards them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, final

from framesmith.guards.class_lookup import is_one_of
from framesmith.guards.kinds import TypeIs
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.lazy import Lazy
from framesmith.variables.core.unspecialized import UnspecializedTracker, break_on_changing_value

_PLAIN: Final = frozenset({int, float, bool, str})


@final
class DeferredText(UnspecializedTracker):
    """A text. `write` gives the expression for it; `now` reads the parts and gives the tracker of the known text."""

    def __init__(
        self, parts: Sequence[Tracker], write: Callable[[Writer], str], now: Callable[[], Tracker]
    ) -> None:
        self.parts = tuple(parts)
        self.source = None
        self._write = write
        self._now = now
        self._text: Tracker | None = None

    @property
    def python_type(self) -> type:
        """`str`."""
        return str

    def realize(self) -> Tracker:
        """The known text, which reads and guards the parts; the tracker itself while a part is unspecialized."""
        # an operation that needs the text then meets an unspecialized tracker, which breaks (ADR 0010)
        if self.is_unread:
            return self
        if self._text is None:
            self._text = self._now().realize()
        return self._text

    @property
    def is_unread(self) -> bool:
        """Whether a part is unspecialized and the text has not been read."""
        return self._text is None and any(_must_stay(part) for part in self.parts)

    def builtin_part_or_self(self, tx: TraceContext) -> Tracker:
        """The tracker of the known text, or the tracker itself while it is unread."""
        return self if self.is_unread else self.realize().builtin_part_or_self(tx)

    def is_python_constant(self) -> bool:
        """Whether the text has been read."""
        return self._text is not None

    def as_python_constant(self) -> object:
        """The known text; breaks the graph while a part is unspecialized."""
        if self.is_unread:
            break_on_changing_value(self.describe())
        return self.realize().as_python_constant()

    def children(self) -> Iterator[Tracker]:
        """The values that the text shows."""
        return iter(self.parts)

    def reconstruct(self, writer: Writer) -> str:
        """The expression that makes the text of this call, or the known text."""
        return self._write(writer) if self._text is None else writer.value(self._text)


def _must_stay(part: Tracker) -> bool:
    """Whether a part is unspecialized. Realizes a lazy part, which guards its type."""
    found = part.realize()
    return found.is_unread or (found.is_run_time_number and not found.is_python_constant())


def _is_unread(tx: TraceContext, value: Tracker) -> bool:
    """Whether a value is a number or text that was not read yet,
    or known at run time only. Guards the type of a lazy one."""
    if isinstance(value, DeferredText):
        return True
    if isinstance(value, Lazy) and not value.is_realized:
        # looks at the real value without wrapping it, which would guard the number
        cls = type(value.peek)
        if is_one_of(cls, _PLAIN):
            tx.guard(value.source, TypeIs(cls))
            return True
    found = value.realize()
    return found.is_run_time_number or (found.is_unread and found.python_type in _PLAIN)


def format_or_defer(
    tx: TraceContext, function: Callable[..., str], value: Tracker, spec: str, now: Callable[[], Tracker]
) -> Tracker:
    """`format(value, spec)`, or `str`, `repr` and `ascii` with
    an empty spec: deferred for an unread value, else `now()`."""
    # `c` fails for some numbers, as -1, so that the value matters
    if not spec.endswith("c") and _is_unread(tx, value) and _can_format(function, value, spec):
        extra = (f", {spec!r}",) if spec else ()

        def write(writer: Writer) -> str:
            return f"{writer.constant(function, function.__name__)}({writer.value(value)}{''.join(extra)})"

        return DeferredText((value,), write, now)
    return now()


def _can_format(function: Callable[..., str], value: Tracker, spec: str) -> bool:
    """Whether values of this type can be formatted so. If not,
    the trace formats now, so that the user's error is raised."""
    cls = type(value.peek) if isinstance(value, Lazy) else value.python_type
    try:
        # a value of the type that formats as any other does: 0, 0.0, False or ""
        function(cls(), *([spec] if spec else []))
    except (TypeError, ValueError):
        return False
    return True


def join_or_defer(tx: TraceContext, parts: Sequence[Tracker], now: Callable[[], Tracker]) -> Tracker:
    """The joined parts of an f-string: deferred if one is unread, else `now()`."""
    if not any(not isinstance(part, Constant) and _is_unread(tx, part) for part in parts):
        return now()

    def write(writer: Writer) -> str:
        return f"''.join(({', '.join([writer.value(part) for part in parts])},))"

    return DeferredText(parts, write, now)
