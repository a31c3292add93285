"""The state of a trace beside its values, at one moment: a call is repeated only where it is as it was.

Not here: the values that the call reads of its module (`recordings`) and its arguments (`operands`).
"""

from dataclasses import dataclass
from typing import Final, Protocol, final

import torch
from torch._C import _get_function_stack_at, _len_torch_function_stack

from framesmith.variables.core import TraceContext
from framesmith.variables.core.reach import reachable

_MOST_CHANGED: Final = 16
"""Each call of a module looks at all existing objects that were changed. Modules that change themselves are not repeated."""


class FramesState(Protocol):
    """What the frames of a trace know besides the values in them. The symbolic interpreter implements it."""

    def __call__(self) -> object:
        """A value that is equal where nothing of it changed; None where a call must not be repeated."""
        ...


@final
@dataclass(slots=True, eq=False)
class Moment:
    """One moment. Never changed; not frozen, since that takes several times as long to make.

    `length`: of the graph; `frames`: see `FramesState`; `settings`: those that the trace has turned; `told_apart`: pairs of objects by
    then; `reads`: of contents of tensors, which the graph may have changed by the time of another call; `metadata_changes`: how many tensors had been given
    other sizes, memory or history (see `graph.metadata_changes`); `changes`: see `_changes`; `asks`: whether subclasses are asked."""

    length: int
    frames: object
    settings: dict[str, object]
    grad: bool
    modes: tuple[object, ...]
    keys: int
    reads: int
    told_apart: int
    metadata_changes: int
    changes: frozenset[tuple[int, int]]
    asks: bool

    def continues(self, tx: TraceContext, now: "Moment") -> bool:
        """Whether what came between left nothing behind but nodes of the graph."""
        return self.keys == now.keys and self.reads == now.reads and self.allows_repeat(tx, now)

    def allows_repeat(self, tx: TraceContext, now: "Moment") -> bool:
        """Whether a call that began in this moment would do the same now."""
        if now.settings:
            before = tx.changes.ambient.before()
            # a setting that was turned only afterwards had its first value then
            turned = {name: self.settings.get(name, before[name]) for name in now.settings}
            if turned != now.settings:
                return False
        return self._is_like(now)

    def _is_like(self, other: "Moment") -> bool:
        return (
            self.frames == other.frames
            and self.grad == other.grad
            and self.changes == other.changes
            and self.asks == other.asks
            # by identity: comparing modes would run their code
            and [*map(id, self.modes)] == [*map(id, other.modes)]
        )


def moment_of(tx: TraceContext, frames: FramesState) -> Moment | None:
    """The present moment; None where calls are neither noted nor repeated: classes were changed, so that what guards say
    of them is no longer true, or many objects; a graph of its own is recorded; a mode is asked; the frames refuse."""
    changes, length = tx.changes, tx.graph.length()
    if (
        length is None
        or changes.classes
        or changes.overrides.modes
        or len(changes.changed_trackers()) > _MOST_CHANGED
    ):
        return None
    state = frames()
    if state is None:
        return None
    return Moment(
        length,
        state,
        changes.ambient.values(),
        torch.is_grad_enabled(),
        tuple([_get_function_stack_at(index) for index in range(_len_torch_function_stack())]),
        changes.keys,
        tx.graph.content_reads,
        len(changes.told_apart),
        tx.graph.metadata_changes.count,
        _changes(tx),
        changes.overrides.asks_subclasses(),
    )


def _changes(tx: TraceContext) -> frozenset[tuple[int, int]]:
    """The existing objects that the trace has changed, and objects that it changed and that can be reached from those, each
    with the version of its last change. Guards say nothing of what these hold now: a call may be repeated only if that is
    the same as it was. What no existing object leads to is an argument of the call, or out of its reach."""
    changed = tx.changes.changed_trackers()
    if not changed:
        return frozenset()
    versions = tx.changes.changed_at
    return frozenset(
        (id(one), versions[id(one)]) for one in reachable(changed).values() if id(one) in versions
    )
