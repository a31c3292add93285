"""Collectives of `torch.distributed`: nodes of the graph, where the call is a plain one; otherwise they run natively.

Plain: of strided real tensors that autograd does not follow, in a group that this process is in. The other processes have to
make the same calls in the same order, as they do in eager; a collective is neither dropped nor moved. One that is asynchronous gives a `Work`: see `works`.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Final, final

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT, NATIVE_CALL
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.functions import FunctionTracker
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.callables.polyfill_rows import register_polyfill
from framesmith.variables.core import Constant, PendingCall, TraceContext, Tracker
from framesmith.variables.core.registry import Priority
from framesmith.variables.core.rows import Rows
from framesmith.variables.distributed.process_groups import (
    ProcessGroupTracker,
    default_group,
    require_registered,
)
from framesmith.variables.distributed.works import begin_work
from framesmith.variables.polyfills import collectives
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()
_NONE: Final = Constant(None)
_FALSE: Final = Constant(False)


def _refuse(name: str, why: str = "") -> GraphBreak:
    return GraphBreak(NATIVE_CALL, f"torch.distributed.{name}(){why and ', ' + why}")


def _require_group(tx: TraceContext, name: str, group: Tracker) -> dist.ProcessGroup:
    """The process group of a call. Breaks the graph where this process is in no such group."""
    if tx.graph.use.is_discarded and not tx.graph.runs_as_captured:
        raise GraphBreak(
            BACKEND_LIMIT, f"torch.distributed.{name}() in a function that the graph calls as it is"
        )
    if tx.graph.use.is_transformed:
        raise _refuse(name, "under a transform, which has no rule for it")
    given = group.realize()
    is_absent = given.is_python_constant() and given.as_python_constant() is None
    given = default_group(tx).realize() if is_absent else given
    if not isinstance(given, ProcessGroupTracker):
        raise _refuse(name, "without a process group")
    if given.value.rank() < 0:
        raise _refuse(name, "of a group without this process")
    if not require_registered(tx, given.value):
        raise _refuse(name, "of a group that was destroyed")
    # fake kernels of functional collectives are there once this module is
    importlib.import_module("torch.distributed._functional_collectives")
    return given.value


def _require_tensors(name: str, *tensors: Tracker) -> list[TensorTracker]:
    """The tensors of a call. Breaks the graph for those that a collective treats in a way of its own."""
    found = [tensor.realize() for tensor in tensors]
    plain = [one for one in found if isinstance(one, TensorTracker)]
    if len(plain) < len(found):
        raise _refuse(name, "of what is no plain tensor")
    for one in plain:
        if one.fake.is_complex() or one.fake.layout is not torch.strided:
            raise _refuse(name, "of a complex or sparse tensor")
        if not one.fake.is_contiguous():
            raise _refuse(
                name, "of a tensor that is not contiguous"
            )  # its memory is reduced, in whatever order
        if one.fake.requires_grad and torch.is_grad_enabled():
            raise _refuse(name, "of a tensor that requires a gradient")
    if len({one.fake.dtype for one in plain}) > 1:
        raise _refuse(name, "of tensors of several types")
    return plain


def _reduction(name: str, op: Tracker | None, tensor: TensorTracker) -> Tracker:
    """The name of a reduction, as functional collectives take it."""
    reduction = dist.ReduceOp.SUM if op is None else op.realize().as_python_constant()
    known = {
        member: text.lower()
        for text, member in dist.ReduceOp.RedOpType.__members__.items()
        # It has a factor, which a name does not tell.
        if text != "PREMUL_SUM"
    }
    # `dist.ReduceOp` objects that hold a factor are of another type.
    if type(reduction) is not dist.ReduceOp.RedOpType or reduction not in known:
        raise _refuse(name, f"with {op.describe() if op is not None else op}")
    if known[reduction] == "avg" and not tensor.fake.is_floating_point():
        raise _refuse(name, "of integers, which have no mean")
    return Constant(known[reduction])


_COMPLETE: Final = polyfill_function(collectives.complete)
_WHOLE: Final = polyfill_function(collectives.write_whole)
_ROWS: Final = polyfill_function(collectives.write_rows)


@final
@dataclass(frozen=True, slots=True)
class _Collective:
    """A collective in two parts: the polyfill that begins it, and the one that waits and writes."""

    name: str
    begin: FunctionTracker
    write: FunctionTracker = _WHOLE

    def call(
        self, tx: TraceContext, async_op: Tracker, outputs: Sequence[Tracker], *arguments: Tracker
    ) -> Tracker | PendingCall:
        """Both parts one after the other; with `async_op` the first, and a `Work` for the second."""
        tensors = [one for output in outputs if isinstance(one := output.realize(), TensorTracker)]
        if not async_op.realize().as_python_constant():
            return _COMPLETE.bind(tx, [self.begin, self.write, TupleTracker(tensors), *arguments], {})
        begun = self.begin.call(tx, arguments, {}).realize()
        assert isinstance(begun, TensorTracker)
        return begin_work(tx, self.name, begun, tensors, self.write)


_ALL_REDUCE: Final = _Collective("all_reduce", polyfill_function(collectives.all_reduce))
_BROADCAST: Final = _Collective("broadcast", polyfill_function(collectives.broadcast))
_ALL_GATHER: Final = _Collective("all_gather", polyfill_function(collectives.all_gather), _ROWS)
_ALL_GATHER_SINGLE: Final = _Collective("all_gather_single", polyfill_function(collectives.all_gather_single))
_REDUCE_SCATTER_SINGLE: Final = _Collective(
    "reduce_scatter_single", polyfill_function(collectives.reduce_scatter_single)
)
_ALL_TO_ALL_SINGLE: Final = _Collective("all_to_all_single", polyfill_function(collectives.all_to_all_single))


def all_reduce(
    tx: TraceContext,
    tensor: Tracker,
    op: Tracker | None = None,
    group: Tracker = _NONE,
    async_op: Tracker = _FALSE,
) -> Tracker | PendingCall:
    """`dist.all_reduce`."""
    found = _require_group(tx, "all_reduce", group)
    (given,) = _require_tensors("all_reduce", tensor)
    reduction = _reduction("all_reduce", op, given)
    return _ALL_REDUCE.call(tx, async_op, [given], given, reduction, Constant(found.group_name))


def broadcast(
    tx: TraceContext,
    tensor: Tracker,
    src: Tracker = _NONE,
    group: Tracker = _NONE,
    async_op: Tracker = _FALSE,
    group_src: Tracker = _NONE,
) -> Tracker | PendingCall:
    """`dist.broadcast`."""
    found = _require_group(tx, "broadcast", group)
    _require_tensors("broadcast", tensor)
    ranks = dist.get_process_group_ranks(found)
    whole, inside = src.realize().as_python_constant(), group_src.realize().as_python_constant()
    given = inside if whole is None else whole
    if not isinstance(given, int) or None not in (whole, inside) or (inside is None and whole not in ranks):
        raise _refuse("broadcast", "from no process of the group")
    # `src` is a rank among all processes; the operator takes one in the group.
    rank = ranks.index(given) if inside is None else given
    return _BROADCAST.call(tx, async_op, [tensor], tensor, Constant(rank), Constant(found.group_name))


def all_gather(
    tx: TraceContext,
    tensor_list: Tracker,
    tensor: Tracker,
    group: Tracker = _NONE,
    async_op: Tracker = _FALSE,
) -> Tracker | PendingCall:
    """`dist.all_gather` into a list of tensors of one shape."""
    found = _require_group(tx, "all_gather", group)
    outputs = tensor_list.realize()
    if not isinstance(outputs, ListTracker) or len(outputs.items) != found.size():
        raise _refuse("all_gather", "into something else than a list of a tensor for each process")
    # Checked together, so that all are of one type.
    one, *others = _require_tensors("all_gather", tensor, *outputs.items)
    if any(other.fake.shape != one.fake.shape for other in others):
        raise _refuse("all_gather", "of tensors of several shapes")
    size, name = Constant(found.size()), Constant(found.group_name)
    return _ALL_GATHER.call(tx, async_op, outputs.items, one, size, name)


def all_gather_single(
    tx: TraceContext, output: Tracker, input: Tracker, group: Tracker = _NONE, async_op: Tracker = _FALSE
) -> Tracker | PendingCall:
    """`dist.all_gather_into_tensor`, which is `all_gather_single` in newer versions of torch."""
    found = _require_group(tx, "all_gather_single", group)
    whole, part = _require_tensors("all_gather_single", output, input)
    _require_parts("all_gather_single", whole, part, found.size())
    size, name = Constant(found.size()), Constant(found.group_name)
    return _ALL_GATHER_SINGLE.call(tx, async_op, [whole], part, size, name)


def reduce_scatter_single(
    tx: TraceContext,
    output: Tracker,
    input: Tracker,
    op: Tracker | None = None,
    group: Tracker = _NONE,
    async_op: Tracker = _FALSE,
) -> Tracker | PendingCall:
    """`dist.reduce_scatter_tensor`, which is `reduce_scatter_single` in newer versions of torch."""
    found = _require_group(tx, "reduce_scatter_single", group)
    part, whole = _require_tensors("reduce_scatter_single", output, input)
    _require_parts("reduce_scatter_single", whole, part, found.size())
    reduction = _reduction("reduce_scatter_single", op, part)
    size, name = Constant(found.size()), Constant(found.group_name)
    return _REDUCE_SCATTER_SINGLE.call(tx, async_op, [part], whole, reduction, size, name)


def all_to_all_single(
    tx: TraceContext,
    output: Tracker,
    input: Tracker,
    output_split_sizes: Tracker = _NONE,
    input_split_sizes: Tracker = _NONE,
    group: Tracker = _NONE,
    async_op: Tracker = _FALSE,
) -> Tracker | PendingCall:
    """`dist.all_to_all_single` of equal parts; parts of other sizes run natively."""
    found = _require_group(tx, "all_to_all_single", group)
    result, given = _require_tensors("all_to_all_single", output, input)
    for sizes in (output_split_sizes.realize(), input_split_sizes.realize()):
        if not (isinstance(sizes, Constant) and sizes.value is None):
            raise _refuse("all_to_all_single", "with sizes of the parts")
    rows, size = given.fake.shape[0] if given.fake.dim() else 0, found.size()
    if result.fake.shape != given.fake.shape or type(rows) is not int or not rows or rows % size:
        raise _refuse("all_to_all_single", "of tensors that have no equal parts")
    # The functional operator wants sizes in any case.
    parts = ListTracker([Constant(rows // size) for _ in range(size)])
    name = Constant(found.group_name)
    return _ALL_TO_ALL_SINGLE.call(tx, async_op, [result], given, parts, parts, name)


def _require_parts(name: str, whole: TensorTracker, part: TensorTracker, size: int) -> None:
    """Break the graph unless the whole is `size` parts put together. Some backends of groups take stacked parts, too."""
    shape = part.fake.shape
    if not shape or tuple(whole.fake.shape) != (shape[0] * size, *shape[1:]):
        raise _refuse(name, "of tensors that do not fit each other")


_CAPTURED: Final[dict[str, Callable[..., Tracker | PendingCall]]] = {
    "all_reduce": all_reduce,
    "broadcast": broadcast,
    "all_gather": all_gather,
    "all_gather_into_tensor": all_gather_single,
    "all_gather_single": all_gather_single,
    "reduce_scatter_tensor": reduce_scatter_single,
    "reduce_scatter_single": reduce_scatter_single,
    "all_to_all_single": all_to_all_single,
}


def _run_natively(function: Callable[..., object], name: str) -> None:
    """A call of the function is one graph break, whatever it does inside."""

    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        raise GraphBreak(NATIVE_CALL, f"{name}()")

    ROWS.call(function, priority=Priority.LISTED)(call)


def _list_rows(names: Sequence[str]) -> None:
    """The rows of what `torch.distributed` exports."""
    for function in dict.fromkeys(getattr(dist, name, None) for name in names):
        if type(function) is not FunctionType or hasattr(function, "__deprecated__"):
            continue  # one that is deprecated warns, and calls another one
        captured = _CAPTURED.get(function.__name__)
        if captured is not None:
            # By name, since `all_gather_into_tensor` has another name in newer versions.
            ROWS.call(function)(captured)
        # Questions are answered elsewhere, or are Python code that is inlined.
        elif not function.__name__.startswith(("is_", "supports_")):
            _run_natively(function, f"torch.distributed.{function.__name__}")


if dist.is_available():
    _list_rows(dist.distributed_c10d.__all__)
    # what the reducer of data parallel training does before and after the module
    for _method in (DistributedDataParallel._pre_forward, DistributedDataParallel._post_forward):
        _run_natively(_method, f"torch.nn.parallel.{_method.__qualname__}")
    # notes for TorchDynamo which module is running, and does nothing else
    register_polyfill(DistributedDataParallel._inside_ddp_forward, collectives.inside_module, ROWS)
