"""`flex_attention`: what changes the scores, and what masks them, are traced into nested graphs on single scores and positions.

torch's own function around the operator is inlined up to it; where the graph breaks it runs natively. The operator maps
both functions over all positions, so that a subscript by positions is an index (`subscripts.index_by_slices`).
"""

import sys
from typing import Final

import torch
from torch._higher_order_ops.flex_attention import flex_attention as flex_attention_op
from torch.fx.experimental.symbolic_shapes import has_free_unbacked_symbols
from torch.fx.traceback import annotate

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.graph.nodes.subgraph import Use
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.callables.functions import DIRECTIVES
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.callables.polyfill_rows import register_polyfill
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.graph_values import graph_argument, graph_arguments
from framesmith.variables.graph_nodes.results import call_node, evaluate, record, wrap_result
from framesmith.variables.higher_order.bodies import call_to_end
from framesmith.variables.higher_order.flat_bodies import (
    FLAT_RESULTS,
    REPEATED_BODY,
    FlatBody,
    check_caller,
    trace_flat,
)
from framesmith.variables.polyfills import operator_bodies
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()
register_polyfill(annotate, operator_bodies.annotate, ROWS)
# By name: nobody else imports the module.
_MODULE: Final = "torch.nn.attention.flex_attention"
_MODE_MODULE: Final = "torch._dynamo._trace_wrapped_higher_order_op"
_ON_POSITIONS: Final = Use(is_transformed=True, is_repeated=True, is_batched=True)


@ROWS.entry(DIRECTIVES, (_MODULE, "flex_attention"))
def flex_attention(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`flex_attention(...)`, inlined up to the operator."""
    function = polyfill_function(sys.modules[_MODULE].flex_attention)
    return call_to_end(tx, function, args, kwargs, REPEATED_BODY)


@ROWS.entry(DIRECTIVES, ("torch._dynamo.decorators", "mark_static"))
def fix_size(tx: TraceContext, tensor: Tracker, index: Tracker) -> Tracker:
    """`mark_static(tensor, index)`, as torch's function calls it for sizes that its kernels need to know; else breaks the graph."""
    check_caller(tx)
    dim = index.realize().as_python_constant()
    if not isinstance(tensor, TensorTracker) or not isinstance(dim, int):
        raise GraphBreak(NATIVE_CALL, "torch._dynamo.mark_static")
    evaluate("a size", lambda: int(tensor.fake.shape[dim]))  # which decides on it
    return Constant(None)


@ROWS.entry(DIRECTIVES, (_MODE_MODULE, "ModIndex.apply"))
def index_by_positions(tx: TraceContext, function: Tracker, tensor: Tracker, positions: Tracker) -> Tracker:
    """A subscript by positions while a mask is made, which torch makes an index: the operation in it, whose gradient is the same."""
    return record(tx, torch.ops.aten.index.Tensor, (tensor, positions))


@ROWS.call(has_free_unbacked_symbols)
def is_unknown(tx: TraceContext, value: Tracker, /) -> Tracker:
    """`has_free_unbacked_symbols(tensor)`: False, as for any tensor when the program runs; breaks the graph where only the
    running program knows a size."""
    value = value.realize()
    if not isinstance(value, TensorTracker) or has_free_unbacked_symbols(value.fake):
        raise GraphBreak(NATIVE_CALL, "torch.fx.experimental.symbolic_shapes.has_free_unbacked_symbols")
    return Constant(False)


@ROWS.call(flex_attention_op)
def call_operator(
    tx: TraceContext,
    query: Tracker,
    key: Tracker,
    value: Tracker,
    score_mod: Tracker,
    block_mask: Tracker,
    scale: Tracker,
    kernel_options: Tracker,
) -> Tracker:
    """A node that calls the operator."""
    check_caller(tx)
    shown = query.realize()
    if not isinstance(shown, TensorTracker):
        raise GraphBreak(REPEATED_BODY, "the query is no tensor")
    *parts, mask_mod = unpack(tx, block_mask)
    score = _trace(tx, score_mod, shown.fake, has_score=True)
    mask = _trace(tx, mask_mod, shown.fake, has_score=False)
    graphs = [
        body.recording.finish(body.outputs, name=name, single=True)
        for body, name in ((score, "score_change"), (mask, "mask_of_scores"))
    ]
    operands = graph_arguments(tx, (query, key, value))
    masked = (*graph_arguments(tx, parts), graphs[1].node)
    before_fixing, tx.graph.fixes_floats = tx.graph.fixes_floats, True
    try:
        rest = (graph_argument(tx, scale), graph_argument(tx, kernel_options))
    finally:
        tx.graph.fixes_floats = before_fixing
    lifted = (graphs[0].lifted, graphs[1].lifted)
    return wrap_result(
        tx, call_node(tx, flex_attention_op, (*operands, graphs[0].node, masked, *rest, *lifted))
    )


def _trace(tx: TraceContext, function: Tracker, query: torch.Tensor, *, has_score: bool) -> FlatBody:
    """Trace a function of a score (or none) and four positions: of the batch, head, query and key."""
    inputs: list[torch.Tensor | None] = []
    if has_score:
        inputs.append(query.new_empty((), requires_grad=query.requires_grad))
    inputs += [query.new_empty((), dtype=torch.int, requires_grad=False) for _ in range(4)]
    body = trace_flat(tx, FLAT_RESULTS, [function], inputs, use=_ON_POSITIONS)
    leaf = body.leaves[0] if len(body.leaves) == 1 else None
    if not isinstance(leaf, TensorTracker) or leaf.fake.dim() != 0:
        raise GraphBreak(REPEATED_BODY, "it gives something else than one number in a tensor")
    body.check_operands(body.recording.lifted)
    return body
