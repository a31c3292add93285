"""Which gradients a graph can compute: the history of the outputs has to begin, and stay, in the graph.

What autograd does beyond computing (hooks, memory that is shared with other tensors) is checked and guarded here.
"""

from collections.abc import Sequence
from typing import Final

import torch

from framesmith.graph import BreakKind, GraphBreak, register
from framesmith.graph.backends.captured_only import HISTORY_ASKED
from framesmith.graph.fakes.histories import find_leaves, nodes_of_pass
from framesmith.graph.operations.tensor_hooks import HookSlot, hooked, lend_hook, retained
from framesmith.guards.kinds import NoNodeHooks, NoTensorHooks, TensorProperty
from framesmith.guards.plain_tensors import read_unasked
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.gradients.hook_places import find_hooks, find_places
from framesmith.variables.gradients.traced_hooks import trace_hook
from framesmith.variables.tensors.tensors import TensorTracker

OUTER_HISTORY = register(
    BreakKind(
        "outer-history",
        "gradients through operations that ran before the graph",
        "The result depends on a tensor that was computed before the graph, from others that require gradients: a backward "
        "pass goes on behind the graph, and frees what it needs there.",
        "Compute in one compiled function, without a graph break, what is differentiated there.",
    )
)
GRADIENT_HOOK = register(
    BreakKind(
        "gradient-hook",
        "gradients of a tensor with hooks",
        "A tensor that is there already has hooks, a value retains its gradient, or gradients with hooks are differentiated again: "
        "a graph cannot do that within its own backward pass.",
        "Change the gradients after the backward pass, or leave it outside of the compiled function.",
    )
)
CHANGED_STATE = register(
    BreakKind(
        "changed-state",
        "gradients by functions that read what was changed since",
        "The `backward` of a torch.autograd.Function, and a checkpointed function, read what an object holds when the backward pass runs; "
        "the graph would run them before the change is made.",
        "Give the function what backward needs as an argument, or change it after the gradients are computed.",
    )
)
_HOOKS: Final = ("_backward_hooks", "_post_accumulate_grad_hooks")


def find_known_leaves(
    tx: TraceContext,
    outputs: Sequence[TensorTracker],
    stops: Sequence[TensorTracker] = (),
    *,
    records_itself: bool = False,
) -> list[TensorTracker]:
    """The leaves on which the outputs depend; guarded. Breaks the graph where one is not known to the trace. `records_itself`: the
    gradients will have a history."""
    if any(retained(tx.graph.graph)):
        raise GraphBreak(GRADIENT_HOOK, "a value that the graph computes retains its gradient")
    if any(hooked(tx.graph.graph)) and (records_itself or tx.graph.length() is None):
        raise GraphBreak(GRADIENT_HOOK, "a value with a hook in the midst of what is differentiated again")
    fakes = [one.fake for one in outputs]
    if any(reads.is_used_by(fakes) and reads.is_outdated() for reads in tx.changes.native_reads):
        raise GraphBreak(CHANGED_STATE, ", ".join(one.describe() for one in outputs))
    leaves: list[TensorTracker] = []
    for fake in find_leaves(fakes, [one.fake for one in stops]):
        # A leaf that no tracker knows is not of this trace.
        leaf = tx.changes.results.get(id(fake))
        if not isinstance(leaf, TensorTracker) or (
            # The fake of an input that is no leaf is one: its real history goes on before the graph.
            leaf.value is not None and not read_unasked(leaf.value, "is_leaf")
        ):
            raise GraphBreak(OUTER_HISTORY, ", ".join(one.describe() for one in outputs))
        if leaf.value is not None:
            tx.guard(leaf, TensorProperty.of(leaf.value, "is_leaf", True))
        leaves.append(leaf)
    if _goes_on_outside(tx, fakes, stops):
        raise GraphBreak(OUTER_HISTORY, ", ".join(one.describe() for one in outputs))
    return leaves


def _goes_on_outside(
    tx: TraceContext, outputs: Sequence[torch.Tensor], wanted: Sequence[TensorTracker]
) -> bool:
    """Whether a gradient that is asked for, of `wanted` or of all leaves, may lead through what was computed before the graph.

    A tensor of which an input was computed there is a leaf, or another input, or a view of either: `v` is `w[0]`, or `w * 2`.
    Which one it is, the next call may answer otherwise. Asking also for the gradient of a value of this graph stops nothing.
    """
    existing = [one.fake for one in wanted if one.value is not None]
    if not tx.graph.computed_inputs or (wanted and not existing):
        return False
    nodes = set(nodes_of_pass(outputs))
    return any(
        node in nodes and (not wanted or any(fake is not one for one in existing))
        for node, fake in tx.graph.computed_inputs
    )


def lend_hooks(tx: TraceContext) -> None:
    """Let the graph have the hooks of values that it computes as graphs, as they are now: a backward pass begins."""
    for place in find_places(tx):
        if place.tensor.value is None:
            body = trace_hook(tx, place.hook, place.tensor)
            node = tx.graph.object_input(place.place, HookSlot())
            tx.graph.call("call_function", lend_hook, (node, *body.arguments), result=None)


def forget_used(tx: TraceContext, outputs: Sequence[TensorTracker], keeps: Tracker | None) -> None:
    """After a backward pass from the outputs: what the operations read that it ran may change from now on, unless the
    history is kept for another pass (`keeps`)."""
    if keeps is None or (isinstance(keeps, Constant) and not keeps.value):
        fakes = [one.fake for one in outputs]
        tx.changes.native_reads[:] = [one for one in tx.changes.native_reads if not one.is_used_by(fakes)]


def check_hooks(tx: TraceContext, tensor: TensorTracker, *, allows_new: bool = False) -> None:
    """Break the graph for an existing tensor with hooks; that it has none is guarded. `allows_new`: the trace may have registered
    some."""
    if tensor.value is None:
        return
    if not allows_new and find_hooks(tx, tensor):
        raise GraphBreak(GRADIENT_HOOK, tensor.describe())
    for name in _HOOKS:
        claim = NoTensorHooks.of(tensor.value, name)
        if not claim.check(tensor.value):
            raise GraphBreak(GRADIENT_HOOK, tensor.describe())
        tx.guard(tensor, claim)
    if read_unasked(tensor.value, "retains_grad"):
        raise GraphBreak(GRADIENT_HOOK, f"{tensor.describe()} retains its gradient")
    tx.guard(tensor, TensorProperty.of(tensor.value, "retains_grad", False))


def check_node_hooks(tx: TraceContext, leaf: TensorTracker) -> None:
    """Break the graph for an existing leaf whose `AccumulateGrad` node has hooks; that it has none is guarded."""
    if leaf.value is None:
        return
    claim = NoNodeHooks()
    # Asking registers a hook for a moment, on the real node.
    with tx.graph.pause_recording():
        is_free = claim.check(leaf.value)
    if not is_free:
        raise GraphBreak(GRADIENT_HOOK, f"{leaf.describe()} has hooks on its AccumulateGrad node")
    tx.guard(leaf, claim)


def ask_gradient(tx: TraceContext, tensor: Tracker) -> None:
    """Note, before a break, that what runs natively then asks for the own gradient of this tensor.

    Results of a graph that a backend has differentiated are results of one operation, and none of them is computed from
    another: if the graph has used the tensor, the trace has to stop before.
    """
    if isinstance(tensor, TensorTracker) and tensor.value is None and tensor.fake.requires_grad:
        tx.changes.asked_gradients.append(tensor.graph_node(tx))


def ask_history(tx: TraceContext, outputs: Sequence[TensorTracker]) -> None:
    """Note, before a break, that what runs natively then differentiates these tensors in a way that can be differentiated again: a
    backend that differentiates the graph gives results for which that fails."""
    for tensor in outputs:
        if tensor.value is None and tensor.fake.requires_grad:
            tensor.graph_node(tx).meta[HISTORY_ASKED] = True
