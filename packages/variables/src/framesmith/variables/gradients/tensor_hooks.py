"""`Tensor.register_hook` and `Tensor.retain_grad` of tensors that the trace computes. How a graph does it: `graph.tensor_hooks`.

Hooks of existing tensors, and backends that replace the operations of the graph, break it.
"""

from collections.abc import Iterator
from typing import Final, TypeGuard, final

import torch
from torch.utils.hooks import RemovableHandle

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import BACKWARD_CALL, NATIVE_CALL
from framesmith.graph.operations.tensor_hooks import HookSlot, attach_hook
from framesmith.guards.plain_tensors import PLAIN_TENSORS
from framesmith.guards.sources import NewObject
from framesmith.variables.core import Constant, TraceContext, Tracker, Writer, raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.gradients.history import ask_gradient
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()


@final
class HookSlotTracker(Tracker):
    """The place of a hook, made by each call of the entry; filling it is a change that is made after the graph."""

    def __init__(self, source: NewObject, hook: Tracker) -> None:
        self.place = self.source = source
        self.hook = hook

    @property
    def python_type(self) -> type:
        """The class of the place, which no program sees."""
        return HookSlot

    def children(self) -> Iterator[Tracker]:
        """The hook."""
        return iter((self.hook,))

    def replay(self, writer: Writer) -> None:
        """Fill it."""
        writer.statement(f"{writer.load(self.place)}.fill({writer.value(self.hook)})")


@final
class HookHandle(Tracker):
    """What `register_hook` returns. Invariant: the graph has made it when the place is read."""

    def __init__(self, slot: HookSlotTracker) -> None:
        self.slot = slot

    @property
    def python_type(self) -> type:
        """`torch.utils.hooks.RemovableHandle`."""
        return RemovableHandle

    def reconstruct(self, writer: Writer) -> str:
        """The handle that the graph left in the place."""
        return f"{writer.load(self.slot.place)}.handle"


@ROWS.call(torch.Tensor.register_hook)
def register_hook(tx: TraceContext, self: Tracker, hook: Tracker) -> Tracker:
    """`tensor.register_hook(hook)`."""
    # First, as torch does: the error comes before anything else is looked at.
    _require_gradient(tx, self, "cannot register a hook on a tensor that doesn't require gradient")
    # Unique for each hook: the number of nodes grows with each one.
    number = tx.graph.length()
    if number is None or not _is_computed(self, tx):
        ask_gradient(tx, self)
        raise GraphBreak(NATIVE_CALL, "Tensor.register_hook()")
    source = NewObject(number, HookSlot, (), "hook")
    place = tx.graph.object_input(source, HookSlot())
    # Nothing is run on fakes: the hook of the program must not see any.
    tx.graph.call("call_function", attach_hook, (self.graph_node(tx), place), result=None)
    slot = HookSlotTracker(source, hook)
    tx.changes.note(slot)
    return HookHandle(slot)


@ROWS.call(torch.Tensor.retain_grad)
def retain_grad(tx: TraceContext, self: Tracker) -> Tracker:
    """`tensor.retain_grad()`; for a leaf it does nothing."""
    _require_gradient(tx, self, "can't retain_grad on Tensor that has requires_grad=False")
    if isinstance(self, TensorTracker) and _is_existing_leaf(tx, self):
        return Constant(None)
    if tx.graph.length() is None or not _is_computed(self, tx):
        ask_gradient(tx, self)
        raise GraphBreak(BACKWARD_CALL, "Tensor.retain_grad()")
    # On a fake it would keep gradients of fakes.
    tx.graph.call("call_method", "retain_grad", (self.graph_node(tx),), result=None)
    return Constant(None)


def _require_gradient(tx: TraceContext, tensor: Tracker, message: str) -> None:
    """Raise RuntimeError where torch does: for a tensor, existing or new, without a gradient."""
    if isinstance(tensor, TensorTracker) and not tensor.fake.requires_grad:
        raise_observed(tx, RuntimeError, message)


def _is_computed(tensor: Tracker, tx: TraceContext) -> TypeGuard[TensorTracker]:
    """Whether it is a plain tensor of the trace with a history, and the backend runs its operations as they are."""
    return (
        isinstance(tensor, TensorTracker)
        and tensor.value is None
        and tensor.cls is torch.Tensor
        and tensor.fake.grad_fn is not None
        and tx.graph.runs_as_captured
    )


def _is_existing_leaf(tx: TraceContext, tensor: TensorTracker) -> bool:
    """Whether it is a plain tensor from outside without a history; guarded."""
    if tensor.value is None or type(tensor.value) not in PLAIN_TENSORS:
        return False
    answer = tensor.attribute(tx, "is_leaf")
    return isinstance(answer, Constant) and answer.value is True
