"""`torch.autograd.grad`: one node, where the history of its outputs lies within the graph."""

from typing import Final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import CALL_SIGNATURE
from framesmith.variables.builtin_types.dicts import DictTracker, make_dict_tracker
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.gradients.history import (
    ask_gradient,
    ask_history,
    check_hooks,
    find_known_leaves,
    forget_used,
    lend_hooks,
)
from framesmith.variables.graph_nodes.results import record
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()


@ROWS.call(torch.autograd.grad)
def grad(
    tx: TraceContext,
    outputs: Tracker,
    inputs: Tracker,
    grad_outputs: Tracker | None = None,
    **options: Tracker,
) -> Tracker:
    """`torch.autograd.grad(outputs, inputs, grad_outputs, ...)` of tensors; anything else breaks the graph."""
    results = unpack_tensors(tx, outputs.realize())
    named = inputs.realize()
    # torch takes a dict of inputs as well, and gives a dict.
    keys: list[Tracker] | None = None
    if isinstance(named, DictTracker) and named.python_type is dict:
        items = list(named.items(tx))
        keys, values = [key for key, _ in items], [value for _, value in items]
        wanted = [_require_tensor(value.realize()) for value in values]
    else:
        wanted = unpack_tensors(tx, named)
    again = options.get("create_graph")
    records = again is not None and not _is_false(again.realize())
    try:
        # Called for its checks and guards.
        again = options.get("create_graph")
        find_known_leaves(
            tx, results, wanted, records_itself=again is not None and not _is_false(again.realize())
        )
        for tensor in wanted:
            # Hooks of an input of the call see its gradient, also where nothing is accumulated.
            check_hooks(tx, tensor)
        lend_hooks(tx)
    except GraphBreak:
        for tensor in wanted:
            ask_gradient(tx, tensor)
        if records:
            ask_history(tx, results)
        raise
    given: list[Tracker] = [] if grad_outputs is None else [_gradients_tracker(tx, grad_outputs.realize())]
    found = record(
        tx, torch.autograd.grad, (TupleTracker(results), TupleTracker(wanted), *given), dict(options)
    )
    # `create_graph=True` keeps it too, unless the other option says otherwise.
    kept = [options[name].realize() for name in ("retain_graph", "create_graph") if name in options]
    forget_used(tx, results, next((one for one in kept if not _is_false(one)), None))
    if keys is None:
        return found
    assert isinstance(found, TupleTracker)
    return make_dict_tracker(list(zip(keys, found.items, strict=True)))


def _is_false(option: Tracker) -> bool:
    return isinstance(option, Constant) and not option.value


def unpack_tensors(tx: TraceContext, value: Tracker) -> list[TensorTracker]:
    """A tensor, or the tensors of an iterable; breaks the graph for anything else."""
    if isinstance(value, TensorTracker):
        return [value]
    return [_require_tensor(item.realize()) for item in unpack(tx, value)]


def _require_tensor(value: Tracker) -> TensorTracker:
    if not isinstance(value, TensorTracker):
        raise GraphBreak(CALL_SIGNATURE, f"gradients of {value.describe()}")
    return value


def _gradients_tracker(tx: TraceContext, value: Tracker) -> Tracker:
    """The argument `grad_outputs`: None, a tensor, or a tuple of those."""
    if isinstance(value, TensorTracker | Constant):
        return value
    return TupleTracker([item.realize() for item in unpack(tx, value)])
