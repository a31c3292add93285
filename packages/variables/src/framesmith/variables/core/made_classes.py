"""Classes that the trace itself makes, as `collections.namedtuple(...)` does. What makes them is in the frontend.

The trace works with a class of its own. Where the program's class outlives the trace, the entry makes one in each call, as
eager does: so the results of two calls have two types.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True, eq=False)
class MadeClass:
    """A class of the trace. Invariant: `make` makes one like it, and runs no code of the user."""

    cls: type
    make: Callable[[], type]
