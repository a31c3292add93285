"""A value with a source that the trace has not read: it has no guard yet."""

from typing import final

from framesmith.guards import Source
from framesmith.variables.core.base import TraceContext, Tracker, Wrap


@final
class Lazy(Tracker):
    """Represents a value until the trace needs it; then the value is wrapped, once.

    Passing it on, storing it and returning it need no guard.
    """

    def __init__(self, value: object, source: Source, wrap: Wrap) -> None:
        self.source = source
        self._value = value
        self._wrap = wrap
        self._tracker: Tracker | None = None

    @property
    def python_type(self) -> type:
        """The exact type; reading it wraps the value."""
        return self.realize().python_type

    @property
    def peek(self) -> object:
        """The real value, for a caller that adds the guards it needs itself."""
        return self._value

    @property
    def is_realized(self) -> bool:
        """Whether the value has been wrapped."""
        return self._tracker is not None

    def realize(self) -> Tracker:
        """The tracker of the value; the first call wraps it and adds the guards."""
        if self._tracker is None:
            assert self.source is not None
            self._tracker = self._wrap(self._value, self.source)
        return self._tracker

    def builtin_part_or_self(self, tx: TraceContext) -> Tracker:
        """The builtin part of the wrapped value, or its tracker."""
        return self.realize().builtin_part_or_self(tx)

    def is_python_constant(self) -> bool:
        """Whether the wrapped value is known."""
        return self.realize().is_python_constant()

    def as_python_constant(self) -> object:
        """The known value, once wrapped."""
        return self.realize().as_python_constant()

    def describe(self) -> str:
        """Type and source, for messages; adds no guard."""
        assert self.source is not None
        return f"{type(self._value).__name__} ({self.source.text()})"
