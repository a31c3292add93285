"""`while_loop`, `map`, `scan` and `associative_scan`: their bodies are traced into nested graphs, which torch's operators run.

What torch's own functions around the operators do (checks, flattening, reversing) is inlined up to the operator. Where
the body is more than a computation on tensors the graph breaks at the call of that function, which runs natively: then
torch itself raises its errors.
"""

from collections.abc import Callable, Sequence
from typing import Final

import torch
from torch import fx
from torch._higher_order_ops.associative_scan import associative_scan, associative_scan_op
from torch._higher_order_ops.map import map as map_steps
from torch._higher_order_ops.map import map_impl
from torch._higher_order_ops.scan import scan, scan_op
from torch._higher_order_ops.while_loop import while_loop, while_loop_op

from framesmith.graph import GraphBreak, unify
from framesmith.guards.words import with_article
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.graph_values import graph_arguments
from framesmith.variables.graph_nodes.results import call_node, wrap_result
from framesmith.variables.higher_order.bodies import call_to_end
from framesmith.variables.higher_order.flat_bodies import (
    FLAT_RESULTS,
    FLAT_STEPS,
    REPEATED_BODY,
    FlatBody,
    as_input,
    as_slice,
    as_step,
    check_alike,
    check_caller,
    check_steps,
    trace_flat,
)
from framesmith.variables.symbolic_numbers.symbolic import SymbolicNumber
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()


def _register(function: Callable[..., object]) -> None:
    """Trace torch's function to its end; where that breaks the graph it runs natively as a whole."""
    tracker = polyfill_function(function)

    @ROWS.call(function)
    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        return call_to_end(tx, tracker, args, kwargs, REPEATED_BODY)


for _function in (while_loop, map_steps, scan, associative_scan):
    _register(_function)


@ROWS.call(while_loop_op)
def call_while_loop(
    tx: TraceContext, cond_fn: Tracker, body_fn: Tracker, carried: Tracker, additional: Tracker
) -> Tracker:
    """A node that calls the operator; an int that is carried is unknown in the bodies, and after the loop."""
    check_caller(tx)
    given = [one.realize() for one in unpack(tx, carried)]
    more = unpack(tx, additional)
    condition = trace_flat(tx, FLAT_RESULTS, [cond_fn], _carried_inputs(given), more)
    inputs = _carried_inputs(given)
    body = trace_flat(tx, FLAT_RESULTS, [body_fn], inputs, more)
    _check_condition(condition)
    check_alike(body.leaves, inputs)
    lifted = unify([condition.recording, body.recording])
    condition.check(lifted)
    body.check(lifted)
    graphs = (
        condition.recording.finish(condition.outputs, name="loop_condition", single=True),
        body.recording.finish(body.outputs, name="loop_body"),
    )
    operands = graph_arguments(tx, given)
    return _results(tx, body, while_loop_op, (graphs[0].node, graphs[1].node, operands, tuple(lifted)))


@ROWS.call(map_impl)
def call_map(tx: TraceContext, function: Tracker, xs: Tracker, pos_args: Tracker) -> Tracker:
    """A node that calls the operator."""
    check_caller(tx)
    given, more = _tensors(tx, xs), [one.realize() for one in unpack(tx, pos_args)]
    body = trace_flat(tx, FLAT_RESULTS, [function], [as_slice(one.fake) for one in given], more)
    check_steps(body.leaves)
    lifted = body.recording.lifted
    # The slices are views, and share memory with what they are taken from.
    body.check(lifted, [one.fake for one in more if isinstance(one, TensorTracker)])
    graph = body.recording.finish(body.outputs, name="map_body")
    return _results(tx, body, map_impl, (graph.node, _nodes(tx, given), list(lifted)))


@ROWS.call(scan_op)
def call_scan(
    tx: TraceContext, combine_fn: Tracker, init: Tracker, xs: Tracker, additional_inputs: Tracker
) -> Tracker:
    """A node that calls the operator."""
    check_caller(tx)
    carried, given = _tensors(tx, init), _tensors(tx, xs)
    inputs = [as_input(one.fake) for one in carried]
    steps = [as_step(one.fake) for one in given]
    more = unpack(tx, additional_inputs)
    body = trace_flat(tx, FLAT_STEPS, [combine_fn, Constant(len(carried))], [*inputs, *steps], more)
    check_alike(body.leaves[: len(carried)], inputs)
    check_steps(body.leaves[len(carried) :])
    lifted = body.recording.lifted
    body.check(lifted)
    graph = body.recording.finish(body.outputs, name="scan_body")
    operands = (graph.node, _nodes(tx, carried), _nodes(tx, given), tuple(lifted))
    return _results(tx, body, scan_op, operands)


@ROWS.call(associative_scan_op)
def call_associative_scan(
    tx: TraceContext, combine_fn: Tracker, xs: Tracker, additional_inputs: Tracker
) -> Tracker:
    """A node that calls the operator."""
    check_caller(tx)
    given = _tensors(tx, xs)
    left, right = ([as_step(one.fake) for one in given] for _ in range(2))
    body = trace_flat(tx, FLAT_RESULTS, [combine_fn], [*left, *right], unpack(tx, additional_inputs))
    check_alike(body.leaves, left)
    lifted = body.recording.lifted
    body.check(lifted)
    graph = body.recording.finish(body.outputs, name="scan_body")
    return _results(tx, body, associative_scan_op, (graph.node, _nodes(tx, given), tuple(lifted)))


def _check_condition(condition: FlatBody) -> None:
    leaf = condition.leaves[0] if len(condition.leaves) == 1 else None
    if isinstance(leaf, TensorTracker) and leaf.fake.dtype is torch.bool and leaf.fake.dim() == 0:
        return
    if not isinstance(leaf, SymbolicNumber) or leaf.python_type is not bool:
        raise GraphBreak(REPEATED_BODY, "the condition is no bool that the graph computes")


def _carried_inputs(given: Sequence[Tracker]) -> list[torch.Tensor | None]:
    inputs: list[torch.Tensor | None] = []
    for one in given:
        # bools are refused by torch, and floats
        if not isinstance(one, TensorTracker) and one.python_type is not int:
            raise GraphBreak(REPEATED_BODY, f"it carries {with_article(one.describe())}")
        inputs.append(as_input(one.fake) if isinstance(one, TensorTracker) else None)
    return inputs


def _tensors(tx: TraceContext, value: Tracker) -> list[TensorTracker]:
    found = [one.realize() for one in unpack(tx, value)]
    tensors = [one for one in found if isinstance(one, TensorTracker)]
    if len(tensors) != len(found):
        raise GraphBreak(REPEATED_BODY, "an operand is no tensor")
    return tensors


def _nodes(tx: TraceContext, tensors: Sequence[TensorTracker]) -> list[fx.Node]:
    return [one.graph_node(tx) for one in tensors]


def _results(
    tx: TraceContext, body: FlatBody, operator: Callable[..., object], operands: tuple[object, ...]
) -> Tracker:
    values = wrap_result(tx, call_node(tx, operator, operands))
    return body.fill(tx, unpack(tx, values))
