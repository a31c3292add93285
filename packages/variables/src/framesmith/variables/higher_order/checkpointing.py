"""`torch.utils.checkpoint.checkpoint`: the function becomes a nested graph that the backward pass runs again.

A function is captured only if a second run computes the same; any other breaks the graph and runs natively.
"""

import sys
from collections.abc import Sequence
from functools import cache
from types import CellType, FunctionType
from typing import Final

import torch
import torch.utils.checkpoint
from torch import _compile, fx
from torch._higher_order_ops.wrap import tag_activation_checkpoint
from torch.autograd.function import Function
from torch.utils.checkpoint import CheckpointFunction

from framesmith.graph import BreakKind, GraphBreak, NestedGraph, example, register
from framesmith.graph.nodes.arguments import tensors_in
from framesmith.graph.operations.random_draws import checkpoint_with_random_numbers, draws_random_numbers
from framesmith.graph.operations.selective_checkpoint import (
    checkpoint_selectively,
    find_questions,
    set_decisions,
)
from framesmith.guards.sources import Pinned
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.functions import FunctionTracker
from framesmith.variables.core import Constant, PendingCall, SkippedFrame, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.skipped_frames import skip_frames
from framesmith.variables.graph_nodes.results import call_node, wrap_result
from framesmith.variables.higher_order.autograd_functions import APPLICATIONS
from framesmith.variables.higher_order.bodies import check_containers, rebuild, trace_body
from framesmith.variables.higher_order.reentrant_checkpoints import (
    check_operands,
    check_results,
    mark_reentrant,
)
from framesmith.variables.higher_order.selective_checkpoints import SelectivePolicy
from framesmith.variables.higher_order.state_reads import StateReads

ROWS: Final = Rows()

CHECKPOINT_KIND = register(
    BreakKind(
        "unsupported-checkpoint",
        "a checkpointed function that is more than a computation on tensors",
        "Its graph runs once more in the backward pass: it may neither have side effects nor change a tensor, and has to give "
        "new tensors; a backend that replaces the operations gets none that draws random numbers (dropout) with preserve_rng_state=False. "
        "Not captured are debug=True, a context_fn that makes other than selective contexts, whose policy may look at the operator alone, and "
        "use_reentrant=True where eager gives other gradients than without it, or raises.",
        "Give use_reentrant=False, and keep everything else outside of the checkpointed function.",
    )
)
_ORIGINAL: Final[FunctionType] = getattr(torch.utils.checkpoint.checkpoint, "__wrapped__")  # noqa: B009
_ALLOWED: Final[dict[str, tuple[object, ...]]] = {
    "determinism_check": ("default", "none"),  # a graph computes the same again
    "debug": (False,),
    "early_stop": (True, False),  # what is left out has no effects
}
"""Options that must have one of these values."""


@ROWS.call(torch.utils.checkpoint.checkpoint)
def checkpoint(
    tx: TraceContext, function: Tracker, *args: Tracker, **kwargs: Tracker
) -> Tracker | PendingCall:
    """`checkpoint(function, *args, use_reentrant=False, preserve_rng_state=True, **kwargs)`, or the reentrant form where it gives the
    same. Where none is said, torch's code warns, and takes the reentrant one (`apply_reentrant`)."""
    given = kwargs.get("use_reentrant", Constant(None)).realize()
    if isinstance(given, Constant) and given.value is None:
        call = FunctionTracker(_ORIGINAL, Pinned(_ORIGINAL, "checkpoint")).bind(tx, (function, *args), kwargs)
        return skip_frames(call, *_frames_around(tx))
    # The rest of the keywords are those of the function.
    kwargs.pop("use_reentrant")
    if not isinstance(given, Constant) or type(given.value) is not bool:
        raise GraphBreak(CHECKPOINT_KIND, "use_reentrant is no bool")
    preserve = kwargs.pop("preserve_rng_state", Constant(True)).realize()
    return _capture(tx, function, args, kwargs, given.value, preserve)


_REENTRANT: Final[type[Function]] = CheckpointFunction


@ROWS.entry(APPLICATIONS, _REENTRANT)
def apply_reentrant(tx: TraceContext, function: Tracker, preserve: Tracker, *args: Tracker) -> Tracker:
    """`CheckpointFunction.apply(function, preserve, *args)`: the reentrant form."""
    return _capture(tx, function, args, {}, True, preserve.realize())


def _frames_around(tx: TraceContext) -> tuple[SkippedFrame, ...]:
    """The frames in which torch calls a function that it excludes from capture, the outermost first: the warning of `checkpoint`
    names one of them. Found by calling such a function."""
    # It imports `torch._dynamo`, as the first call in eager does.
    with tx.graph.pause_recording():
        return _look_around()


@cache
def _look_around() -> tuple[SkippedFrame, ...]:
    found = list[SkippedFrame]()

    def look() -> None:
        frame = sys._getframe(1)
        while frame.f_code is not _look_around.__wrapped__.__code__:
            code = frame.f_code
            cells = tuple(CellType() for _ in code.co_freevars)
            found.insert(
                0, SkippedFrame(FunctionType(code, frame.f_globals, None, None, cells), frame.f_lineno)
            )
            assert frame.f_back is not None
            frame = frame.f_back

    _compile._disable_dynamo(look)()
    return tuple(found)


def _capture(
    tx: TraceContext,
    function: Tracker,
    args: Sequence[Tracker],
    kwargs: dict[str, Tracker],
    reentrant: bool,
    preserve: Tracker,
) -> Tracker:
    if reentrant:
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
            body = trace_body(tx, function, args, kwargs, CHECKPOINT_KIND)
        if not body.outputs:
            raise GraphBreak(CHECKPOINT_KIND, "it gives no tensor")
        body.check_outputs(body.recording.lifted)
        check_containers(tx, body)
        if reentrant:
            check_results(body)
        body.check_changes()  # not even of its own: backward may be in need of what was there before
        graph = body.recording.finish(body.output_nodes(tx), name="checkpointed")
        node = _record_checkpoint(tx, graph, context_fn, preserve)
        mark_reentrant(node, body, reentrant)
    except GraphBreak:
        tx.graph.rollback(marker)
        raise
    # Eager runs the function again in the backward pass, on what there is then.
    reads.keep(tensors_in(example(node)), contents=map(example, graph.lifted), step=tx.graph.step)
    results = wrap_result(tx, node)
    assert isinstance(results, TupleTracker)
    return rebuild(tx, body, results.items)


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
        if not isinstance(preserve, Constant):
            raise GraphBreak(CHECKPOINT_KIND, "it draws random numbers")
        if not preserve.value and not tx.graph.runs_as_captured:
            raise GraphBreak(CHECKPOINT_KIND, "it draws other random numbers each time")
        given = (graph.node, bool(preserve.value), *graph.lifted)
        return call_node(tx, checkpoint_with_random_numbers, given)
    # Torch's own operator, in which AOTAutograd marks what is to be recomputed. With a policy it issues a warning that
    # eager does not.
    is_own = context_fn is not None and tx.graph.runs_as_captured
    run = checkpoint_selectively if is_own else tag_activation_checkpoint
    return call_node(tx, run, (graph.node, *graph.lifted))
