"""`torch.utils.checkpoint.checkpoint`: the function becomes a nested graph that the backward pass runs again.

A function is captured only if a second run computes the same; any other breaks the graph and runs natively.
"""

from typing import Final

import torch
import torch.utils.checkpoint
from torch import fx
from torch._higher_order_ops.wrap import tag_activation_checkpoint

from framesmith.graph import BreakKind, GraphBreak, NestedGraph, example, register
from framesmith.graph.arguments import tensors_in
from framesmith.graph.random_draws import checkpoint_with_random_numbers, draws_random_numbers
from framesmith.graph.selective_checkpoint import (
    checkpoint_selectively,
    find_questions,
    set_decisions,
)
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import call_node, wrap_result
from framesmith.variables.higher_order.bodies import rebuild, trace_body
from framesmith.variables.higher_order.reentrant_checkpoints import check_operands, check_results
from framesmith.variables.higher_order.selective_checkpoints import SelectivePolicy
from framesmith.variables.higher_order.state_reads import StateReads

ROWS: Final = Rows()

CHECKPOINT_KIND = register(
    BreakKind(
        "unsupported-checkpoint",
        "a checkpointed function that is more than a computation on tensors",
        "Its graph runs once more in the backward pass: it may neither have side effects nor change a tensor, and has to give "
        "new tensors; a backend that replaces the operations gets none that draws random numbers (dropout). Not captured are "
        "debug=True, a context_fn that makes other than selective contexts, whose policy may look at the operator alone, and "
        "use_reentrant=True where eager gives other gradients than without it, or raises.",
        "Give use_reentrant=False, and keep everything else outside of the checkpointed function.",
    )
)
_ALLOWED: Final[dict[str, tuple[object, ...]]] = {
    "determinism_check": ("default", "none"),  # a graph computes the same again
    "debug": (False,),
    "early_stop": (True, False),  # what is left out has no effects
}
"""Options that must have one of these values."""


@ROWS.call(torch.utils.checkpoint.checkpoint)
def checkpoint(tx: TraceContext, function: Tracker, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`checkpoint(function, *args, use_reentrant=False, preserve_rng_state=True, **kwargs)`, or the reentrant form where it gives the same."""
    # The rest of the keywords are those of the function.
    reentrant = kwargs.pop("use_reentrant", None)
    preserve = kwargs.pop("preserve_rng_state", Constant(True)).realize()
    if not isinstance(reentrant, Constant) or type(reentrant.value) is not bool:
        raise GraphBreak(CHECKPOINT_KIND, "use_reentrant is not given")
    if reentrant.value:
        check_operands(args, kwargs, CHECKPOINT_KIND)
    context_fn = kwargs.pop("context_fn", None)
    for name in sorted(_ALLOWED.keys() & kwargs.keys()):
        given = kwargs.pop(name).realize()
        if not isinstance(given, Constant) or given.value not in _ALLOWED[name]:
            raise GraphBreak(CHECKPOINT_KIND, f"the option {name} is given")
    marker = tx.graph.marker()
    reads = StateReads(tx)
    reads.see([function, *args, *kwargs.values()])
    try:
        with tx.changes.watch_reads(reads):
            body = trace_body(tx, function, args, kwargs, CHECKPOINT_KIND, constants=True)
        if not body.outputs:
            raise GraphBreak(CHECKPOINT_KIND, "it gives no tensor")
        body.check_outputs(body.recording.lifted)
        if reentrant.value:
            check_results(body)
        body.check_changes()  # not even of its own: backward may be in need of what was there before
        graph = body.recording.finish(body.output_nodes(tx), name="checkpointed")
        node = _record_checkpoint(tx, graph, context_fn, preserve)
    except GraphBreak:
        tx.graph.rollback(marker)
        raise
    # Eager runs the function again in the backward pass, on what there is then.
    reads.keep(tensors_in(example(node)), contents=map(example, graph.lifted), step=tx.graph.step)
    results = wrap_result(tx, node)
    assert isinstance(results, TupleTracker)
    return rebuild(body.result, iter(results.items))


def _record_checkpoint(
    tx: TraceContext, graph: NestedGraph, context_fn: Tracker | None, preserve: Tracker
) -> fx.Node:
    """Record the node that runs the nested graph and forgets what is in it."""
    operands = [example(node) for node in graph.lifted]
    draws = draws_random_numbers(graph.module, operands)
    if context_fn is not None:
        policy = SelectivePolicy(tx, context_fn, CHECKPOINT_KIND)
        decisions, allows = policy.decide(find_questions(graph.module, operands))
        set_decisions(graph.module, decisions, allows_mutation=allows)
    if draws:
        # Where the backend runs the captured operations the node can call torch's own checkpoint.
        if not tx.graph.runs_as_captured or not isinstance(preserve, Constant):
            raise GraphBreak(CHECKPOINT_KIND, "it draws random numbers")
        given = (graph.node, bool(preserve.value), *graph.lifted)
        return call_node(tx, checkpoint_with_random_numbers, given)
    # Torch's own operator, in which AOTAutograd marks what is to be recomputed. With a policy it issues a warning that
    # eager does not.
    is_own = context_fn is not None and tx.graph.runs_as_captured
    run = checkpoint_selectively if is_own else tag_activation_checkpoint
    return call_node(tx, run, (graph.node, *graph.lifted))
