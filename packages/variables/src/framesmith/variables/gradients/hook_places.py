"""The place of a hook that the entry fills after the graph, and the hooks that leaves will have by then."""

from collections.abc import Iterator, Sequence
from typing import final

from framesmith.graph.operations.tensor_hooks import HookSlot
from framesmith.guards.sources import NewObject
from framesmith.variables.core import TraceContext, Tracker, Writer
from framesmith.variables.tensors.tensors import TensorTracker


@final
class HookSlotTracker(Tracker):
    """The place of a hook, made by each call of the entry; filling it is a change that is made after the graph. The hook of an existing
    leaf is registered then; that of a value that the graph computes it has attached. `is_removed`: the handle was used.
    `earlier`: those of the same leaf, which eager has registered by then."""

    tells_changes = True

    def __init__(self, source: NewObject, hook: Tracker, tensor: TensorTracker) -> None:
        self.place = self.source = source
        self.hook = hook
        self.tensor = tensor
        self.is_removed = False
        self.earlier: Sequence[HookSlotTracker] = ()

    @property
    def python_type(self) -> type:
        """The class of the place, which no program sees."""
        return HookSlot

    def children(self) -> Iterator[Tracker]:
        """The hook, and its tensor."""
        yield from (self.hook, self.tensor)

    def replay(self, writer: Writer) -> None:
        """Fill it, or register the hook of a leaf."""
        place = writer.load(self.place)
        if self.tensor.value is None:
            writer.statement(f"{place}.fill({writer.value(self.hook)})")
            return
        writer.statement(f"{place}.register({writer.value(self.tensor)}, {writer.value(self.hook)})")
        if self.is_removed:
            writer.statement(f"{place}.handle.remove()")


def find_places(tx: TraceContext) -> list[HookSlotTracker]:
    """The places of hooks that the trace has registered and not removed, in their order."""
    return [
        one
        for one in tx.changes.changed_trackers()
        if isinstance(one, HookSlotTracker) and not one.is_removed
    ]


def find_hooks(tx: TraceContext, leaf: TensorTracker) -> list[Tracker]:
    """The hooks that the trace has registered with an existing leaf, in their order."""
    return [one.hook for one in find_places(tx) if one.tensor is leaf and leaf.value is not None]
