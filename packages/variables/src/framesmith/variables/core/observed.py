"""A user-level exception that is raised while tracing."""

from collections.abc import Callable

from framesmith.variables.core.base import RaisedInProgram, Tracker


class ObservedException(RaisedInProgram):
    """Carries the tracker of the exception that the user's program raises at this point.

    It unwinds the tracing stack exactly as the real exception would unwind the user's frames. `chained`
    says that its `__context__` has been settled, `again` that its traceback has an entry of the present frame already.
    `of_frame`: it says what the operation found in its frame, so that in another frame the operation raises another one.
    """

    chained: bool = False
    again: bool = False
    of_frame: bool = False

    def __init__(self, exception: Tracker) -> None:
        super().__init__(exception)
        self.exception = exception

    @property
    def ends_iteration(self) -> bool:
        """Whether it is a StopIteration."""
        return issubclass(self.exception.python_type, StopIteration)


def is_observed_instance(error: ObservedException, *kinds: type[BaseException]) -> bool:
    """Whether the user's exception is an instance of one of these exception classes."""
    return issubclass(error.exception.python_type, kinds)


def unless_type_error(ask: Callable[[], Tracker]) -> Tracker | None:
    """The answer; None where the user's program raises TypeError for it."""
    try:
        return ask()
    except ObservedException as error:
        if not is_observed_instance(error, TypeError):
            raise
        return None
