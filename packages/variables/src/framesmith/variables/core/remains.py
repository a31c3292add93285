"""What an existing container that a trace changed still holds of what it held when the trace began.

Members that the trace has not read are included. What it put in or has read is reached through the trackers. Each family says
it of its own tracker, as a row of `REMAINS`.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from framesmith.variables.core.base import Tracker
from framesmith.variables.core.registry import Registry, Table

Remains: TypeAlias = Callable[..., Iterable[object]]
REMAINS: Final = Table[type[Tracker], Remains]("what changed containers still hold")


def remains_of(registry: Registry, tracker: Tracker) -> Iterable[object] | None:
    """The real objects that an existing container held when the trace began and which the trace has not removed since.

    None where no row answers for this kind of container, so that nothing is known.
    """
    row = registry[REMAINS].get(type(tracker))
    return None if row is None else row(tracker)
