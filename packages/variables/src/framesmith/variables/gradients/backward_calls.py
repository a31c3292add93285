"""`Tensor.backward` and `torch.autograd.backward`: gradients that the graph computes, added to `grad` of the leaves.

Before: `loss.backward()`. After: `grads = torch.autograd.grad(loss, leaves)`; for each leaf `leaf.grad = grad`, which is
replayed after the graph, or an in-place addition to the gradient that is there.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import BACKWARD_CALL, OPERATION_RAISES
from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.fakes.histories import has_gaps, is_laid_out_alike, lay_out
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.base import run_pending
from framesmith.variables.core.rows import Rows
from framesmith.variables.gradients.grad_calls import unpack_tensors
from framesmith.variables.gradients.history import (
    ask_gradient,
    ask_history,
    check_hooks,
    check_node_hooks,
    find_known_leaves,
    forget_used,
    lend_hooks,
)
from framesmith.variables.gradients.hook_places import find_hooks
from framesmith.variables.gradients.traced_hooks import trace_hook
from framesmith.variables.graph_nodes.results import record
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()


@ROWS.call(torch.Tensor.backward)
def backward_method(
    tx: TraceContext,
    self: Tracker,
    gradient: Tracker | None = None,
    retain_graph: Tracker | None = None,
    create_graph: Tracker | None = None,
    inputs: Tracker | None = None,
) -> Tracker:
    """`tensor.backward(gradient, retain_graph, create_graph, inputs)`."""
    return _run_backward(tx, self, gradient, retain_graph, create_graph, inputs)


@ROWS.call(torch.autograd.backward)
def backward_function(
    tx: TraceContext,
    tensors: Tracker,
    grad_tensors: Tracker | None = None,
    retain_graph: Tracker | None = None,
    create_graph: Tracker | None = None,
    grad_variables: Tracker | None = None,
    inputs: Tracker | None = None,
) -> Tracker:
    """`torch.autograd.backward(tensors, grad_tensors, ...)`."""
    if grad_variables is not None:
        raise GraphBreak(BACKWARD_CALL, "the argument grad_variables: torch warns")
    return _run_backward(tx, tensors, grad_tensors, retain_graph, create_graph, inputs)


def _run_backward(
    tx: TraceContext,
    tensors: Tracker,
    gradients: Tracker | None,
    retain_graph: Tracker | None,
    create_graph: Tracker | None,
    inputs: Tracker | None,
) -> Tracker:
    """Check everything first: what is recorded uses up the history of the fakes."""
    outputs = unpack_tensors(tx, tensors.realize())
    given = _read_gradients(tx, gradients, len(outputs))
    if create_graph is not None and bool(create_graph.as_python_constant()):
        ask_history(tx, outputs)
        raise GraphBreak(BACKWARD_CALL, "create_graph=True: torch warns of a cycle")
    # A nested graph may run at another time, and more than once.
    if tx.graph.length() is None:
        raise GraphBreak(BACKWARD_CALL, "in the body of a higher-order operator")
    leaves = find_known_leaves(tx, outputs)
    if inputs is not None and not _is_none(inputs):
        named = unpack_tensors(tx, inputs.realize())
        wanted = {id(one) for one in named}
        # torch refuses an empty list, and gives gradients of tensors that are no leaves to their `grad`.
        if not wanted or not wanted <= {id(leaf) for leaf in leaves}:
            for one in named:
                ask_gradient(tx, one)
            raise GraphBreak(BACKWARD_CALL, "the argument inputs holds other tensors than leaves of the loss")
        leaves = [leaf for leaf in leaves if id(leaf) in wanted]
    if not leaves:
        differentiated = any(one.fake.requires_grad for one in outputs)
        kind = BACKWARD_CALL if differentiated else OPERATION_RAISES
        raise GraphBreak(kind, "no leaf requires a gradient")
    # All are checked before the node uses up the history.
    former = [_read_former(tx, leaf) for leaf in leaves]
    hooks = [find_hooks(tx, leaf) for leaf in leaves]
    for leaf, those in zip(leaves, hooks, strict=True):
        # a hook is called before its tensor gets the gradient, and before or after others get theirs
        with tx.changes.await_gradients(one for one in leaves if one is not leaf):
            for hook in those:
                trace_hook(tx, hook, leaf)  # called for its checks
    with tx.changes.await_gradients(leaves):
        lend_hooks(tx)
    keep = Constant(False) if retain_graph is None or _is_none(retain_graph) else retain_graph
    # A leaf may have no part in the value, which `backward()` allows.
    options = {"retain_graph": keep, "allow_unused": Constant(True)}
    # Before the node is recorded: gradients may share memory with tensors that exist so far.
    taken = {storage_of(tensor) for tensor in tx.graph.tensors()}
    found = record(
        tx,
        torch.autograd.grad,
        (TupleTracker(outputs), TupleTracker(leaves), TupleTracker(given)),
        options,
    )
    forget_used(tx, outputs, keep.realize())
    assert isinstance(found, TupleTracker)
    changed = [_run_hooks(tx, those, one) for those, one in zip(hooks, found.items, strict=True)]
    _accumulate(tx, leaves, former, changed, taken)
    return Constant(None)


def _is_none(value: Tracker) -> bool:
    value = value.realize()
    return isinstance(value, Constant) and value.value is None


def _read_gradients(tx: TraceContext, gradients: Tracker | None, count: int) -> list[Tracker]:
    """The gradient of each output: a tensor, or None for a number, whose gradient is 1."""
    if gradients is None or _is_none(gradients):
        return [Constant(None)] * count
    gradients = gradients.realize()
    if isinstance(gradients, TensorTracker):
        return [gradients]
    raise GraphBreak(BACKWARD_CALL, f"gradients of type {gradients.python_type.__name__}")


def _read_former(tx: TraceContext, leaf: TensorTracker) -> TensorTracker | None:
    """The gradient that a leaf has; guarded. Breaks the graph where autograd would do more than add to it."""
    check_hooks(tx, leaf, allows_new=True)
    check_node_hooks(tx, leaf)
    if has_gaps(leaf.fake):
        raise GraphBreak(BACKWARD_CALL, f"{leaf.describe()} has gaps in its memory")
    former = leaf.attribute(tx, "grad")
    if isinstance(former, Constant) and former.value is None:
        return None
    if not isinstance(former, TensorTracker) or former.fake.requires_grad or former.fake.is_inference():
        raise GraphBreak(BACKWARD_CALL, f"a gradient of {leaf.describe()} that is no plain tensor")
    return former


def _run_hooks(tx: TraceContext, hooks: Sequence[Tracker], gradient: Tracker) -> Tracker:
    """What the hooks of a leaf make of its gradient; a leaf without one calls none."""
    if not isinstance(gradient.realize(), TensorTracker):
        return gradient
    for hook in hooks:
        result = run_pending(tx, hook.begin_call(tx, [gradient], {})).realize()
        if not _is_none(result):
            gradient = result
    return gradient


def _accumulate(
    tx: TraceContext,
    leaves: Sequence[TensorTracker],
    former: Sequence[TensorTracker | None],
    found: Iterable[Tracker],
    taken: set[int],
) -> None:
    """Give each leaf its gradient, laid out as the leaf is and in memory of its own: not in that of `taken`."""
    for leaf, before, gradient in zip(leaves, former, found, strict=True):
        gradient = gradient.realize()
        if not isinstance(gradient, TensorTracker):
            continue  # None: the leaf has no part in the result
        if gradient.fake.requires_grad:  # a tensor of the program, which a `Function` of the user returned
            gradient = record(tx, "detach", (gradient,))
            assert isinstance(gradient, TensorTracker)
        if before is not None:
            # In place, as autograd adds where the grad mode is off in the backward pass.
            record(tx, "add_", (before, gradient))
            continue
        place = storage_of(gradient.fake)
        if place in taken or not is_laid_out_alike(gradient.fake, leaf.fake):
            # As `accumulate_grad.h` does ("gradient layout contract"); `graph.histories` has the rule.
            copy = record(tx, "copy_", (record(tx, torch.empty_like, (leaf,)), gradient))
            assert isinstance(copy, TensorTracker)
            gradient = copy
        # Where a size is 1 the stride of the real gradient may differ from that of its fake.
        elif any(type(size) is not int or size == 1 for size in gradient.fake.shape):
            kept = record(tx, lay_out, (gradient, leaf))
            assert isinstance(kept, TensorTracker)
            gradient = kept
        elif gradient.fake._is_view():
            # The node of a leaf keeps the memory of a gradient in a tensor that is no view: `p.grad._base` is None.
            own = record(tx, "detach", (gradient,))
            assert isinstance(own, TensorTracker)
            gradient = own
        # Two leaves may get one tensor as gradient (`a + b`): the second one gets a copy.
        taken.add(place)
        tx.changes.note(leaf)
        leaf.own["grad"] = gradient
