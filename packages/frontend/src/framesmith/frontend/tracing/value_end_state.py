"""What a machine knows of values whose end the program sees: data only; `value_ends` decides.

A person sees the end of a value when code of theirs runs then (`__del__`, the callback of a weak reference, `weakref.finalize`), or
when a weak reference gives None from then on.
"""

from dataclasses import dataclass, field
from typing import final

from framesmith.graph import GraphBreak
from framesmith.guards import Source
from framesmith.variables.core import Tracker


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """An existing value whose end is seen, or that leads to one: what stands for it, or the container that holds it."""

    real: object
    tracker: Tracker
    is_inside: bool = False


@final
@dataclass(slots=True, eq=False)
class Ends:
    """`held`: what is looked for after each operation, by identity; `referents`: to what the trace made weak references;
    `borrowed`: the names of instances that were handed in and that something else held then (trusted as long as no weak
    reference was made in sight); `changed`: where the containers come from that it changed. `watched`: a weak reference was made in sight, in this trace or in one that led to it. `owning`: the values that were
    handed in belong to the frames (those of a function's own call are its caller's). `let_go`: what ended with the last
    operation, so that the entry has to end here, for the reason given; it holds them until then. `nested`, `runs`, `references`
    count the nested runs that are under way, those that were begun, and the weak references that were asked for.
    """

    watched: bool = False
    owning: bool = False
    nested: int = 0
    runs: int = 0
    references: int = 0
    held: dict[int, Ending] = field(default_factory=dict)
    referents: dict[int, object] = field(default_factory=dict)
    borrowed: set[str] = field(default_factory=set)
    changed: set[Source] = field(default_factory=set)
    let_go: list[Ending] = field(default_factory=list)
    reason: GraphBreak | None = None

    def release(self) -> None:
        """Forget the values."""
        self.held.clear()
        self.referents.clear()
        self.changed.clear()
        self.let_go.clear()
        self.reason = None

    def holds(self, real: object) -> bool:
        """Whether the end of an existing value is seen."""
        return real is not None and (id(real) in self.held or id(real) in self.referents)
