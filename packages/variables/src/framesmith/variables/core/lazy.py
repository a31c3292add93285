"""A value that has a source and has not been looked at: no guard yet."""

from typing import final

from framesmith.guards import Source
from framesmith.variables.core.base import Tracker, Wrap


@final
class Lazy(Tracker):
    """Stands for a value until somebody asks about it; then it is wrapped, once.

    Passing it on, storing it and returning it cost no guard.
    """

    def __init__(self, value: object, source: Source, wrap: Wrap) -> None:
        self.source = source
        self._value = value
        self._wrap = wrap
        self._tracker: Tracker | None = None

    @property
    def python_type(self) -> type:
        """Asking for the type is looking at the value."""
        return self.realize().python_type

    @property
    def peek(self) -> object:
        """The real value, for a caller that adds the guards it needs by itself."""
        return self._value

    @property
    def is_realized(self) -> bool:
        """Whether the value has been looked at."""
        return self._tracker is not None

    def realize(self) -> Tracker:
        """The wrapped value; guards are added the first time."""
        if self._tracker is None:
            assert self.source is not None
            self._tracker = self._wrap(self._value, self.source)
        return self._tracker

    def storage(self) -> Tracker:
        """Asks the wrapped value."""
        return self.realize().storage()

    def is_python_constant(self) -> bool:
        """Asks the wrapped value."""
        return self.realize().is_python_constant()

    def as_python_constant(self) -> object:
        """Asks the wrapped value."""
        return self.realize().as_python_constant()

    def describe(self) -> str:
        """Type and source, without a guard."""
        assert self.source is not None
        return f"{type(self._value).__name__} ({self.source.text()})"
