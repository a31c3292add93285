"""Loops that break the graph and compute nothing in it: `[loss.item() for loss in losses]`.

Each of their rounds would check guards and rebuild frames for nothing, so they run natively from the first break to the end of
the frames. Not for good: another path of the program may compute something, so the entries are tried again now and then
(`generated.alternation`), and the first entry with an operator ends it. No result depends on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, final

from framesmith.frontend.build_entry import BuiltEntry
from framesmith.frontend.exits.ending import ResumeTarget


@final
@dataclass(frozen=True, slots=True)
class EntryEnd:
    """What is asked of an entry: whether its graph computes anything, and in which compiled continuations it may go on."""

    has_operators: bool
    targets: tuple[ResumeTarget, ...]

    @classmethod
    def of(cls, built: BuiltEntry) -> "EntryEnd":
        """That of a finished entry."""
        module = None if built.graph is None else built.graph.graph_module
        nodes = () if module is None else module.graph.nodes
        return cls(
            any(node.op in ("call_function", "call_method") for node in nodes),
            tuple(target for target in built.text.targets.values() if not target.is_native),
        )


class LoopUnit(Protocol):
    """What is asked of a continuation."""

    ends: list[EntryEnd]

    def prefer_native(self, prefers: bool) -> None:
        """Run it natively in every second phase of calls, or no more."""
        ...


@final
class IdleLoops:
    """The continuations that come back to themselves and compute nothing from there to the end, on all paths known so far.

    `units`: all continuations, with their functions. A path that is not known, as no call went there yet, is none that is idle.
    """

    def __init__(self, units: Mapping[ResumeTarget, tuple[LoopUnit, object]]) -> None:
        self._units = units
        self._idle: set[ResumeTarget] = set()

    def update(self, new: EntryEnd) -> None:
        """Decide anew which loops run natively: an entry was made.

        Most entries compute something or lead to what no call has reached: no loop becomes idle by them.
        """
        can_be_idle = not new.has_operators and all(
            target.point.raises or self._ends_at(target) for target in new.targets
        )
        if self._idle or can_be_idle:
            self._idle = {target for target in self._units if self._is_idle(target)}
            for target, (unit, _) in self._units.items():
                unit.prefer_native(target in self._idle)

    def clear(self) -> None:
        """All continuations are forgotten."""
        self._idle.clear()

    def _ends_at(self, target: ResumeTarget) -> Sequence[EntryEnd]:
        return self._units[target][0].ends if target in self._units else ()

    def _is_idle(self, start: ResumeTarget) -> bool:
        seen, waiting = {start}, [start]
        comes_back = has_end = False
        while waiting:
            target = waiting.pop()
            entries = self._ends_at(target)
            # where an operation goes on that raises: it has not
            if not entries and target.point.raises:
                continue
            if not entries or any(entry.has_operators for entry in entries):
                return False
            for entry in entries:
                has_end |= not entry.targets
                comes_back |= start in entry.targets
                unseen = [target for target in entry.targets if target not in seen]
                seen.update(unseen)
                waiting += unseen
        return comes_back and has_end
