"""Loops that break the graph and compute nothing in it: `[loss.item() for loss in losses]`.

Each of their rounds would check guards and rebuild frames for nothing, so they run natively from the first break to the end of
the frames. Not for good: another path of the program may compute something, so the entries are tried again now and then
(`generated.alternation`), and the first entry with an operator ends it. No result depends on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

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


def find_idle(ends: Mapping[ResumeTarget, Sequence[EntryEnd]]) -> set[ResumeTarget]:
    """The continuations that come back to themselves and compute nothing from there to the end, on all paths known so far.

    `ends`: those of the entries of each continuation. A path that is not known, as no call went there yet, is none that is idle.
    """
    return {target for target in ends if _is_idle(target, ends)}


def _is_idle(start: ResumeTarget, ends: Mapping[ResumeTarget, Sequence[EntryEnd]]) -> bool:
    seen, waiting = {start}, [start]
    comes_back = has_end = False
    while waiting:
        target = waiting.pop()
        entries = ends.get(target, ())
        # where an operation goes on that raises: it has not
        if not entries and target.point.raises:
            continue
        if not entries or any(entry.has_operators for entry in entries):
            return False
        for entry in entries:
            has_end |= not entry.targets
            comes_back |= start in entry.targets
            new = [target for target in entry.targets if target not in seen]
            seen.update(new)
            waiting += new
    return comes_back and has_end
