"""Raise a user-level exception from a row: the exception that eager would raise, as a tracker.

The tracker of an exception is an instance tracker, made by `objects`: its maker is a row, so that every lower module can raise.
"""

from collections.abc import Callable
from typing import Final, NoReturn

from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.registry import Table

ExceptionMaker = Callable[[type[BaseException], tuple[Tracker, ...]], Tracker]
EXCEPTION_MAKER: Final = Table[None, ExceptionMaker]("maker of exceptions")
"""Makes the tracker of a new exception from its class and arguments."""


def new_exception(tx: TraceContext, cls: type[BaseException], *arguments: object) -> Tracker:
    """The tracker of `cls(*arguments)`; arguments are trackers or plain constants."""
    operands = tuple(a if isinstance(a, Tracker) else Constant(a) for a in arguments)
    return tx.registry.get_single(EXCEPTION_MAKER)(cls, operands)


def raise_observed(tx: TraceContext, cls: type[BaseException], *arguments: object) -> NoReturn:
    """Raise `cls(*arguments)` in the user's program."""
    raise ObservedException(new_exception(tx, cls, *arguments))
