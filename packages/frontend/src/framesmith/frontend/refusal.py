"""A graph break that is an error (`fullgraph=True`), at an operation that raises: the user's own error goes first.

y = x @ w          the shapes do not fit: the operation runs natively, as at any break, and raises what eager raises
return y + 1       it did not raise, or a handler took it: FullGraphError
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, Protocol, final

from framesmith.frontend.errors import FullGraphError
from framesmith.frontend.user_lines import UserLocation
from framesmith.graph import GraphBreak


class Remainder(Protocol):
    """The rest of the user's frames, natively (`resuming.native`)."""

    def __call__(self, values: list[object]) -> object:
        """Run it to the end."""
        ...

    def unwind(self, values: list[object]) -> None:
        """Leave the frames."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Refusal:
    """The break of one entry, and the user's frames there."""

    reason: GraphBreak
    stack: tuple[UserLocation, ...]

    def error(self) -> FullGraphError:
        """The error, made anew each time that it is raised."""
        return FullGraphError(self.reason, self.stack)

    def make_function(self, native: Remainder, *, raises: bool) -> Callable[..., NoReturn]:
        """What an entry calls in place of its continuation, with the same values: the frames are left, their `finally` and
        `with` run.

        A continuation that begins by raising runs natively to its end, since a `with` or `finally` passes the error on.
        """
        return functools.partial(_refuse, self, native if raises else native.unwind)

    def make_native_function(self, native: Remainder) -> Callable[[list[object]], NoReturn]:
        """The same where the operation itself runs in the user's frames, which take their values in a list."""
        return functools.partial(_refuse_behind, self, native)


def _refuse(refusal: Refusal, leave: Callable[[list[object]], object], *values: object) -> NoReturn:
    _refuse_behind(refusal, leave, [*values])


def _refuse_behind(
    refusal: Refusal, leave: Callable[[list[object]], object], values: list[object]
) -> NoReturn:
    leave(values)
    raise refusal.error()
