"""Loops that break the graph and compute nothing in it: `[loss.item() for loss in losses]`.

Each of their rounds would check guards and rebuild frames for nothing, so they run natively from the first break to the end of
the frames. Not for good: another path of the program may compute something, so the entries are tried again now and then
(`generated.alternation`), and the first entry with an operator ends it. No result depends on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, final

from framesmith.frontend.build_entry import BuiltEntry
from framesmith.frontend.cache.known_paths import KnownPaths
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
            not {node.op for node in nodes}.isdisjoint(("call_function", "call_method")),
            tuple(target for target in built.text.targets.values() if not target.is_native),
        )


class LoopUnit(Protocol):
    """What is asked of a continuation."""

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
        self.clear()

    def update(self, target: ResumeTarget, new: EntryEnd) -> None:
        """Decide anew which loops run natively: an entry of this continuation was made.

        Only those are asked for which it changes something: most entries compute something or lead to what no call has reached.
        """
        changed = self._paths.add_entry(
            self._number(target), [self._number(one) for one in new.targets], computes=new.has_operators
        )
        for number in changed:
            self._units[self._targets[number]][0].prefer_native(self._paths.is_idle(number))

    def clear(self) -> None:
        """All continuations are forgotten."""
        self._numbers = dict[ResumeTarget, int]()
        self._targets = list[ResumeTarget]()
        self._paths = KnownPaths()

    def _number(self, target: ResumeTarget) -> int:
        number = self._numbers.get(target)
        if number is None:
            number = self._numbers[target] = self._paths.add_place(raises=target.point.raises)
            self._targets.append(target)
        return number
