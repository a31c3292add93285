"""Numbers that may differ from call to call and that Python can compute before the graph runs: what others may ask of them.

The trackers are in `symbolic_numbers`; containers, which are below them, ask here.
"""

from typing import Protocol, TypeAlias, runtime_checkable

from framesmith.guards import Source

Number: TypeAlias = int | float | bool


@runtime_checkable
class Computable(Protocol):
    """A number of the trace from which a formula may be built."""

    @property
    def formula(self) -> Source | None:
        """Its source; None for a number that is known in the running graph only."""
        ...

    @property
    def size(self) -> int:
        """The number of operations in its formula."""
        ...

    @property
    def number(self) -> Number | None:
        """The value in the traced call, if there is a formula. Reading it adds no guard."""
        ...
