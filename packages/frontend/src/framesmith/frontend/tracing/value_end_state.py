"""What a machine knows of values whose end the program sees: data only; `value_ends` decides.

The program sees the end of a value when code of the user runs then (`__del__`, the callback of a weak reference,
`weakref.finalize`), or when a weak reference gives None from then on.
"""

from dataclasses import dataclass, field
from typing import final

from framesmith.graph import GraphBreak
from framesmith.guards import Source
from framesmith.variables.core import Lazy, Tracker


@final
@dataclass(frozen=True, slots=True, eq=False)
class EndingValue:
    """An existing object whose end the program can see, or which holds such an object.

    `real` is the object. `tracker` is its tracker, or that of the container that holds it (`is_inside`).
    """

    real: object
    tracker: Tracker
    is_inside: bool = False


@final
@dataclass(slots=True, eq=False)
class ValueEnds:
    """The values whose end is seen, and what is known of weak references.

    - `watched`: a weak reference was made in sight, in this trace or in one that led to it.
    - `owning`: the values that were handed over belong to the frames (the arguments of a function are its caller's).
    - `nested`, `closings` count nested runs under way, and those of them that close a generator that was dropped.
    - `runs`, `references` count nested runs begun, and weak references made.
    - `held`: the values that are looked for after each operation, by identity.
    - `referents`: the values to which the trace made weak references, by identity.
    - `borrowed`: the names of instances that were handed over and that something else held then; trusted as long as no
      weak reference was made in sight.
    - `changed`: the sources of the containers that the trace changed.
    - `given`: the values that were handed over and whose end is not seen in this call; `until_end`: what the outermost
      frame held when it returned.
    - `is_order_unknown`: the present operation lets go of several values, in an order that only real objects have.
    - `let_go`, `reason`: what ended with the last operation, kept alive until the entry ends, and why it ends here.
    """

    watched: bool = False
    owning: bool = False
    nested: int = 0
    closings: int = 0
    runs: int = 0
    references: int = 0
    held: dict[int, EndingValue] = field(default_factory=dict)
    referents: dict[int, object] = field(default_factory=dict)
    borrowed: set[str] = field(default_factory=set)
    changed: set[Source] = field(default_factory=set)
    given: list[Lazy] = field(default_factory=list)
    until_end: list[Tracker] = field(default_factory=list)
    let_go: list[EndingValue] = field(default_factory=list)
    is_order_unknown: bool = False
    reason: GraphBreak | None = None

    def release(self) -> None:
        """Forget the values."""
        self.held.clear()
        self.referents.clear()
        self.changed.clear()
        self.given.clear()
        self.until_end.clear()
        self.let_go.clear()
        self.reason = None

    def notes(self, real: object) -> bool:
        """Whether an existing value is noted here, since its end is seen."""
        return real is not None and (id(real) in self.held or id(real) in self.referents)
