"""Calls that become one graph node: the function of the rows for torch functions and tensor methods.

Which callables get such a row is decided in `function_rows` and `method_rows`.
"""

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.break_kinds import BACKEND_LIMIT, UNSUPPORTED_ARGUMENT
from framesmith.guards.sources import Pinned
from framesmith.variables.callables.functions import FunctionTracker
from framesmith.variables.core import PendingCall, TraceContext, Tracker
from framesmith.variables.core.registry import Priority
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import record_node, wrap_result
from framesmith.variables.tensors.tensors import TensorTracker

Target = Callable[..., object] | str


def graph_call(
    tx: TraceContext, target: Target, args: Sequence[Tracker], kwargs: Mapping[str, Tracker]
) -> Tracker:
    """Record the call and wrap its result. Breaks the graph for a
    result with `requires_grad=True`, and if `out=` changes size."""
    if "requires_grad" in kwargs and bool(kwargs["requires_grad"].as_python_constant()):
        raise GraphBreak(BACKEND_LIMIT, f"{target} makes a tensor that requires a gradient")
    outputs = _outputs(kwargs.get("out"))
    sizes = [output.fake.shape for output in outputs]
    marker = tx.graph.marker()
    node = record_node(tx, target, args, kwargs)
    for output, size in zip(outputs, sizes, strict=True):
        if not _same_size(size, output.fake.shape):
            tx.graph.rollback(marker)
            raise GraphBreak(BACKEND_LIMIT, f"{target}: out= is resized")
    return wrap_result(tx, node)


def _same_size(one: torch.Size, other: torch.Size) -> bool:
    return len(one) == len(other) and all(a is b or a == b for a, b in zip(one, other, strict=True))


def _outputs(out: Tracker | None) -> list[TensorTracker]:
    if out is None:
        return []
    if isinstance(out, TensorTracker):
        return [out]
    return [
        child for child in (member.realize() for member in out.children()) if isinstance(child, TensorTracker)
    ]


def record_function(rows: Rows, function: Callable[..., object], target: Target | None = None) -> None:
    """Add the general row of a function, which records a call as a node; a row of its own counts before it.

    A Python function with an argument that a node cannot hold (a callable, an instance) is inlined instead.
    """
    recorded = function if target is None else target

    def record_call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
        try:
            return graph_call(tx, recorded, args, kwargs)
        except GraphBreak as reason:
            if reason.kind is not UNSUPPORTED_ARGUMENT or not isinstance(function, FunctionType):
                raise
        return FunctionTracker(function, Pinned(function, function.__qualname__)).bind(tx, args, kwargs)

    rows.call(function, priority=Priority.GENERAL)(record_call)


def is_operator(value: object) -> bool:
    """Whether it is an operator of the dispatcher, such as
    `torch.ops.aten.add`, `torch.ops.aten.add.Tensor` or a custom one."""
    return issubclass(type(value), torch._ops.OpOverload | torch._ops.OpOverloadPacket)
