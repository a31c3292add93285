"""`Tensor.register_hook` and `Tensor.retain_grad`. How a graph does it: `graph.operations.tensor_hooks`.

Of a tensor that the trace computes: the graph attaches the hook. Of an existing leaf: the entry registers it after the graph, since a
leaf stays what it is.
"""

from collections.abc import Iterator
from types import MethodType
from typing import Final, TypeGuard, final

import torch
from torch import fx
from torch.utils.hooks import RemovableHandle

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import BACKWARD_CALL, NATIVE_CALL
from framesmith.graph.operations.tensor_hooks import HookSlot, attach_hook, attach_traced_hook, remove_hook
from framesmith.guards.plain_tensors import PLAIN_TENSORS
from framesmith.guards.sources import NewObject
from framesmith.variables.core import Constant, TraceContext, Tracker, Writer, raise_observed
from framesmith.variables.core.base import Arguments, Keywords
from framesmith.variables.core.rows import Rows
from framesmith.variables.gradients.history import ask_gradient
from framesmith.variables.gradients.hook_places import HookSlotTracker, find_places
from framesmith.variables.gradients.traced_hooks import check_reads, trace_hook
from framesmith.variables.higher_order.state_reads import StateReads
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()


@final
class HookHandle(Tracker):
    """What `register_hook` returns. Invariant: the graph has made it when the place is read.

    Without a slot the graph alone has the hook, and there is no handle behind it. It is a `Launch` then: a hook whose handle is needed
    is registered natively.
    """

    source = None

    def __init__(self, tx: TraceContext, slot: HookSlotTracker | None, node: fx.Node | None) -> None:
        self.slot = slot
        self.node = node
        self.step = tx.graph.step
        # nothing has to end it
        self.ended: int | None = self.step
        self.escapes = False
        self.is_removed = False

    @property
    def position(self) -> str | None:
        """Nowhere: to attach a hook can be made up for."""
        return None

    @property
    def python_type(self) -> type:
        """`torch.utils.hooks.RemovableHandle`."""
        return RemovableHandle

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """`remove`; whatever else one may ask of a handle breaks the graph."""
        return RemoveMethod(self) if name == "remove" else self.unsupported(f"reading attribute {name!r}")

    def remove(self, tx: TraceContext) -> Tracker:
        """`handle.remove()`."""
        if self.is_removed:
            return Constant(None)
        if tx.graph.length() is None:
            return self.unsupported("removing a hook in another function that the graph calls")
        tx.changes.note(self)
        self.is_removed = True
        if self.slot is not None:
            tx.changes.note(self.slot)
            self.slot.is_removed = True
        if self.node is not None:
            tx.graph.call("call_function", remove_hook, (self.node,), result=None)
        return Constant(None)

    def explain(self) -> GraphBreak:
        """The break at which the hook is registered natively."""
        return GraphBreak(NATIVE_CALL, "Tensor.register_hook(), whose handle is needed behind the graph")

    def reconstruct(self, writer: Writer) -> str:
        """The handle that the graph left in the place; without one the trace is made again, up to the call."""
        if self.slot is None:
            self.escapes = True
            raise self.explain()
        # What the hook reads may lead to the handle, so that it is wanted before the hook is there.
        for slot in (*self.slot.earlier, self.slot):
            if slot.tensor.value is not None:
                writer.statement(f"{writer.load(slot.place)}.reserve({writer.value(slot.tensor)})")
        return f"{writer.load(self.slot.place)}.handle"


@final
class RemoveMethod(Tracker):
    """`handle.remove`, bound. It is only called."""

    source = None

    def __init__(self, handle: HookHandle) -> None:
        self.handle = handle

    @property
    def python_type(self) -> type:
        """That of a bound method."""
        return MethodType

    def children(self) -> Iterator[Tracker]:
        """The handle."""
        yield self.handle

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker:
        """`handle.remove()`."""
        if args or kwargs:
            return self.unsupported("a call with arguments")
        return self.handle.remove(tx)

    def reconstruct(self, writer: Writer) -> str:
        """The method of the handle."""
        return f"{writer.value(self.handle)}.remove"


@ROWS.call(torch.Tensor.register_hook)
def register_hook(tx: TraceContext, self: Tracker, hook: Tracker) -> Tracker:
    """`tensor.register_hook(hook)`."""
    # First, as torch does: the error comes before anything else is looked at.
    _require_gradient(tx, self, "cannot register a hook on a tensor that doesn't require gradient")
    if tx.graph.length() is None:
        raise GraphBreak(NATIVE_CALL, "Tensor.register_hook() in a function that the graph calls")
    if isinstance(self, TensorTracker) and _is_existing_leaf(tx, self):
        slot = HookSlotTracker(_make_place(tx), hook, self)
        slot.earlier = [one for one in find_places(tx) if one.tensor is self]
        tx.changes.note(slot)
        return HookHandle(tx, slot, None)
    if not _is_computed(self):
        ask_gradient(tx, self)
        raise GraphBreak(NATIVE_CALL, "Tensor.register_hook()")
    return _attach(tx, self, hook)


def _make_place(tx: TraceContext) -> NewObject:
    # Unique for each hook: the number grows with each change, and a hook is one.
    return NewObject(tx.changes.version, HookSlot, (), "hook")


def _attach(tx: TraceContext, tensor: TensorTracker, hook: Tracker) -> HookHandle:
    """Let the graph attach the hook. Nothing is run on fakes: a hook of the program must not see any."""
    if not tx.graph.runs_as_captured:
        return _attach_traced(tx, tensor, hook)
    source = _make_place(tx)
    place = tx.graph.object_input(source, HookSlot())
    node = tx.graph.call("call_function", attach_hook, (tensor.graph_node(tx), place), result=None)
    slot = HookSlotTracker(source, hook, tensor)
    tx.changes.note(slot)
    return HookHandle(tx, slot, node)


def _attach_traced(tx: TraceContext, tensor: TensorTracker, hook: Tracker) -> HookHandle:
    """Let the graph attach the hook as a graph. Breaks the graph for one that does more than compute."""
    reads = StateReads(tx)
    try:
        body = trace_hook(tx, hook, tensor, reads)
        check_reads(reads)
    except GraphBreak:
        ask_gradient(tx, tensor)
        raise
    node = tx.graph.call(
        "call_function", attach_traced_hook, (tensor.graph_node(tx), *body.arguments), result=None
    )
    # Eager reads what is there when a backward pass runs.
    reads.keep([tensor.fake], step=tx.graph.step)
    handle = HookHandle(tx, None, node)
    tx.changes.launches.append(handle)
    return handle


@ROWS.call(torch.Tensor.retain_grad)
def retain_grad(tx: TraceContext, self: Tracker) -> Tracker:
    """`tensor.retain_grad()`; for a leaf it does nothing."""
    _require_gradient(tx, self, "can't retain_grad on Tensor that has requires_grad=False")
    if isinstance(self, TensorTracker) and (
        _is_existing_leaf(tx, self) or (_is_computed(self) and self.fake.is_leaf)
    ):
        return Constant(None)
    if tx.graph.length() is None or not _is_computed(self) or not tx.graph.runs_as_captured:
        ask_gradient(tx, self)
        raise GraphBreak(BACKWARD_CALL, "Tensor.retain_grad()")
    # On a fake it would keep gradients of fakes.
    tx.graph.call("call_method", "retain_grad", (self.graph_node(tx),), result=None)
    return Constant(None)


def _require_gradient(tx: TraceContext, tensor: Tracker, message: str) -> None:
    """Raise RuntimeError where torch does: for a tensor, existing or new, without a gradient."""
    if isinstance(tensor, TensorTracker) and not tensor.fake.requires_grad:
        raise_observed(tx, RuntimeError, message)


def _is_computed(tensor: Tracker) -> TypeGuard[TensorTracker]:
    """Whether it is a plain tensor of the trace that requires a gradient."""
    return (
        isinstance(tensor, TensorTracker)
        and tensor.value is None
        and tensor.cls is torch.Tensor
        and tensor.fake.requires_grad
    )


def _is_existing_leaf(tx: TraceContext, tensor: TensorTracker) -> bool:
    """Whether it is a plain tensor from outside without a history; guarded."""
    if tensor.value is None or type(tensor.value) not in PLAIN_TENSORS:
        return False
    answer = tensor.attribute(tx, "is_leaf")
    return isinstance(answer, Constant) and answer.value is True
