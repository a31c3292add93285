"""Hooks that only compute, as graphs: what a hook of the program makes of a gradient, for passes that no Python of it runs in.

    y.register_hook(lambda gradient: gradient.clamp(-1, 1) * w)      body(gradient, w): return gradient.clamp(-1, 1) * w

A hook is traced twice, on gradients that differ in all that a backward pass may decide: their strides, and whether gradients are
recorded. It is the same graph both times, or there is none.
"""

from dataclasses import dataclass
from typing import Final, final

import torch
from torch import fx

from framesmith.graph import BreakKind, GraphBreak, NestedGraph, example, register
from framesmith.graph.fakes.execution import all_storages, storage_of
from framesmith.graph.fakes.histories import has_gaps
from framesmith.graph.nodes.arguments import tensors_in
from framesmith.graph.nodes.subgraph import BODY, Use
from framesmith.graph.operations.data_errors import may_raise
from framesmith.graph.operations.purity import is_foreign, is_random
from framesmith.guards.sources import Local, Pinned
from framesmith.guards.words import with_article
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.base import run_pending
from framesmith.variables.core.constant import LITERAL_TYPES
from framesmith.variables.higher_order.bodies import TracedBody, body_input, record_body
from framesmith.variables.higher_order.state_reads import StateReads
from framesmith.variables.symbolic_numbers.symbolic import SymbolicNumber
from framesmith.variables.tensors.tensors import TensorTracker

HOOK_KIND = register(
    BreakKind(
        "unsupported-hook",
        "a hook on a gradient that is more than a computation on it",
        "A backend that differentiates the graph makes the hook a part of its backward pass: it may neither have side effects nor change "
        "a tensor, nor raise, has to give a tensor like the gradient, or None, and may not read what can be another thing by then.",
        "Let the hook compute from its gradient, constants and tensors of the compiled function alone.",
    )
)
_DISCARDED: Final = Use(is_discarded=True)


@final
@dataclass(frozen=True, slots=True, eq=False)
class TracedHook:
    """A hook as a graph; None for one that leaves the gradient as it is."""

    body: NestedGraph | None

    @property
    def arguments(self) -> tuple[fx.Node | None, ...]:
        """The body and its operands, for a node that runs it."""
        return (None,) if self.body is None else (self.body.node, *self.body.lifted)


def trace_hook(
    tx: TraceContext, hook: Tracker, tensor: TensorTracker, reads: StateReads | None = None
) -> TracedHook:
    """The graph of a hook on the gradient of a tensor. Breaks the graph for one that does more than compute. `reads` is told what it
    reads."""
    if tensor.fake.layout is not torch.strided or has_gaps(tensor.fake):
        raise GraphBreak(HOOK_KIND, "its tensor has gaps in its memory")
    if tensor.fake.grad_fn is not None and len(tensor.fake.grad_fn._input_metadata) > 1:
        raise GraphBreak(
            HOOK_KIND,
            "its tensor is one of several results, and a hook is called with None where another is used",
        )
    with torch.no_grad():
        gradient = torch.empty_like(tensor.fake)
    marker = tx.graph.marker()
    try:
        expanded = gradient.new_empty(()).expand(gradient.shape).requires_grad_()
        with torch.enable_grad():
            first = _trace(tx, hook, expanded, _DISCARDED, StateReads(tx))
        with torch.no_grad():
            second = _trace(tx, hook, gradient, BODY, reads or StateReads(tx))
        if _form(first) != _form(second):
            raise GraphBreak(HOOK_KIND, "it asks how the gradient was made")
        if not all(
            isinstance(example(node), torch.Tensor | torch.SymInt) for node in second.recording.lifted
        ):
            raise GraphBreak(HOOK_KIND, "it uses a value of the graph that is neither a tensor nor an int")
        _check(tx, second, gradient)
        body = None
        if second.outputs:
            body = second.recording.finish(second.output_nodes(tx), name="hook", single=True)
    except GraphBreak:
        tx.graph.rollback(marker)
        raise
    return TracedHook(body)


def _trace(
    tx: TraceContext, hook: Tracker, gradient: torch.Tensor, use: Use, reads: StateReads
) -> TracedBody:
    with record_body(tx, [hook], HOOK_KIND, use) as recording, tx.changes.watch_reads(reads):
        given = body_input(tx, recording, gradient, 0)
        result = run_pending(tx, hook.begin_call(tx, [given], {})).realize()
        outputs: tuple[TensorTracker, ...] = ()
        if isinstance(result, TensorTracker):
            outputs = (result,)
            recording.body.local(result.graph_node(tx))
        elif not isinstance(result, Constant) or result.value is not None:
            raise GraphBreak(HOOK_KIND, f"it gives {with_article(result.describe())}")
    return TracedBody(recording, result, outputs, HOOK_KIND)


def _form(body: TracedBody) -> list[object]:
    """The operations, with their operands by their numbers; a lifted value is itself."""
    numbers: dict[fx.Node, fx.node.Argument] = {
        inner: outer for outer, inner in body.recording.body.lifted.items()
    }
    found: list[object] = []
    for node in body.recording.body.order:
        numbers.setdefault(node, len(numbers))
        if node.op != "placeholder":
            found.append(
                (node.op, node.target, str(fx.node.map_arg((node.args, node.kwargs), numbers.__getitem__)))
            )
    return [*found, *(numbers.get(one.node) for one in body.outputs)]


def _check(tx: TraceContext, body: TracedBody, gradient: torch.Tensor) -> None:
    """Break the graph for a body with an operation that does more than compute, or whose result autograd would refuse, or lay out
    in another way than the gradient."""
    body.check_changes()
    needed = {body.recording.body.local(node) for node in body.output_nodes(tx)}
    for node in reversed(body.recording.body.order):
        if node.op not in ("call_function", "call_method"):
            continue
        if is_random(node) or is_foreign(node.target):
            raise GraphBreak(HOOK_KIND, "it draws random numbers, or runs other code than torch's")
        if not tensors_in(example(node)) and not isinstance(example(node), torch.SymInt):
            raise GraphBreak(HOOK_KIND, "it reads a number out of a tensor")
        if node in needed:
            needed.update(node.all_input_nodes)
        elif may_raise(node):
            raise GraphBreak(HOOK_KIND, "an operation may raise, and nothing needs it")
    lifted = all_storages(body.recording.lifted)
    for output in body.outputs:
        if storage_of(output.fake) in lifted:
            raise GraphBreak(HOOK_KIND, "it gives a tensor that is there already")
        if output.cls is not torch.Tensor or any(
            getattr(output.fake, name) != getattr(gradient, name)
            for name in ("shape", "dtype", "device", "layout")
        ):
            raise GraphBreak(HOOK_KIND, "it gives a tensor of another kind than the gradient")
        if output.fake.stride() != gradient.stride():
            raise GraphBreak(HOOK_KIND, "it lays the gradient out in another way")


def check_reads(reads: StateReads) -> None:
    """Break the graph where a hook reads what may be another thing when eager runs it: what is found on the way from an argument, or
    in a global variable. Functions, classes and modules count as constants."""
    for one in reads.seen():
        is_value = isinstance(one, SymbolicNumber | TensorTracker) or (
            isinstance(one, Constant) and type(one.value) in LITERAL_TYPES and one.value is not None
        )
        if is_value and one.source is not None and not isinstance(one.source, Local | Pinned):
            raise GraphBreak(HOOK_KIND, f"it reads {one.source.text()}")
