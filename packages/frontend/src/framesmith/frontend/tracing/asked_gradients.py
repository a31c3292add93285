"""Results of a graph whose own gradient the program asks for behind it: the trace stops before they are used.

    y = x * 2; z = y.sin(); y.register_hook(hook)     stops before `y.sin()`: the next graph gets y as an input

A backend that differentiates its graph returns y and z as results of one operation, so nothing of the gradient of z would reach y.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

import torch
from torch import fx
from torch.utils import _pytree as pytree

from framesmith.bytecode.meaning import Kind
from framesmith.frontend.tracing.machine import Frame
from framesmith.frontend.tracing.replanning import PlannedStop, Restart
from framesmith.frontend.tracing.trace_end import BreakBefore
from framesmith.graph import GraphBreak
from framesmith.graph.backends.captured_only import HISTORY_ASKED
from framesmith.graph.breaks.break_kinds import BACKWARD_CALL
from framesmith.graph.nodes.arguments import example
from framesmith.graph.running.failures import STEP
from framesmith.variables.core import TraceContext
from framesmith.variables.core.reach import reachable
from framesmith.variables.tensors.tensors import TensorTracker

_ASKING: Final = frozenset({"register_hook", "retain_grad"})


def check_asked_gradients(tx: TraceContext, frames: Iterable[Frame] = ()) -> None:
    """Restart, to stop before a result is used whose own gradient is asked for where the trace has to end, or, as far as the
    code of these frames shows, later."""
    nodes = {*tx.changes.asked_gradients, *(node for frame in frames for node in _asked_by(tx, frame))}
    uses = [
        user.meta[STEP][0]
        for node in nodes
        if node.op != "placeholder" and not node._erased
        for user in node.users
        if STEP in user.meta and _has_history(example(user)) and example(user) is not example(node)
    ]
    if uses and not tx.graph.runs_as_captured:
        reason = GraphBreak(BACKWARD_CALL, "the gradient of a value that the graph has used already")
        raise Restart(PlannedStop(min(uses), None, 0, BreakBefore(reason)))


def find_asked_histories(tx: TraceContext) -> frozenset[int]:
    """The steps of this trace that gave what the program asks for the history of, behind its end."""
    nodes = tx.graph.graph.nodes
    return frozenset(node.meta[STEP][0] for node in nodes if HISTORY_ASKED in node.meta and STEP in node.meta)


def ask_histories(tx: TraceContext, stop: PlannedStop | None) -> None:
    """Note for a second trace what the first one has found so."""
    for node in tx.graph.graph.nodes if stop is not None and stop.asked else ():
        if stop is not None and STEP in node.meta and node.meta[STEP][0] in stop.asked:
            node.meta[HISTORY_ASKED] = True


def _has_history(value: object) -> bool:
    return any(isinstance(leaf, torch.Tensor) and leaf.requires_grad for leaf in pytree.tree_leaves(value))


def _asked_by(tx: TraceContext, frame: Frame) -> Iterator[fx.Node]:
    """The results in local variables of which the code says `y.register_hook` or `y.retain_grad`, and what containers hold in a
    frame that says so: a loop may take it from there."""
    if _ASKING.isdisjoint(frame.code.co_names):
        return
    said = [
        loaded
        for loaded, asked in pairwise(frame.reading.operations)
        if asked.kind in (Kind.LOAD_METHOD, Kind.LOAD_ATTRIBUTE) and asked.argument in _ASKING
    ]
    if not said:
        return
    named = {str(one.argument) for one in said if one.kind is Kind.LOAD_LOCAL}
    held = reachable(value for value in frame.locals.values() if not isinstance(value, TensorTracker))
    for one in (*held.values(), *(value for name, value in frame.locals.items() if name in named)):
        if isinstance(one, TensorTracker) and one.value is None and one.fake.requires_grad:
            yield one.graph_node(tx)
