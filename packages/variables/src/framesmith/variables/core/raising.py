"""Raise a user-level exception from a handler: the exception that eager would raise, as a tracker.

The tracker of an exception is an instance tracker, made by `objects`; its maker registers
itself here so that every lower module can raise.
"""

from collections.abc import Callable
from typing import NoReturn

from framesmith.variables.core.base import Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.observed import ObservedException

ExceptionMaker = Callable[[type[BaseException], tuple[Tracker, ...]], Tracker]
_makers: list[ExceptionMaker] = []


def register_exception_maker(maker: ExceptionMaker) -> ExceptionMaker:
    """Install the function that makes the tracker of a new exception (once, on import)."""
    _makers[:] = [maker]
    return maker


def new_exception(kind: type[BaseException], *arguments: object) -> Tracker:
    """The tracker of `kind(*arguments)`; arguments are trackers or plain constants."""
    operands = tuple(a if isinstance(a, Tracker) else Constant(a) for a in arguments)
    return _makers[0](kind, operands)


def raise_observed(kind: type[BaseException], *arguments: object) -> NoReturn:
    """Raise `kind(*arguments)` in the user's program."""
    raise ObservedException(new_exception(kind, *arguments))
