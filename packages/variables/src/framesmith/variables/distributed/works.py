"""`Work`, what an asynchronous collective gives: the graph begins the collective, and waits for it where the program does.

    work = dist.all_reduce(x, async_op=True)      begun = _c10d_functional.all_reduce(x, ...)
    y = a @ b                                     y = a @ b
    work.wait()                                   x.copy_(wait_tensor(begun))

What `x` holds between the two is undefined in eager. No object is made for the `Work`: a collective of which the program needs it
after the graph, or for which the graph does not wait, begins natively (`Launch`).
"""

from collections.abc import Iterator, Sequence
from types import MethodType
from typing import final

import torch
import torch.distributed as dist

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.functions import FunctionTracker
from framesmith.variables.core import Constant, PendingCall, TraceContext, Tracker, Writer
from framesmith.variables.core.base import Arguments, Keywords
from framesmith.variables.tensors.tensors import TensorTracker


@final
class WorkTracker(Tracker):
    """The `Work` of a collective that the graph has begun. Invariant: `ended` is the step in which the program first waited for it.

    It is a `Launch`: the trace is made again where `ended` is None at the end, or `escapes` was set.
    """

    source = None

    def __init__(
        self,
        tx: TraceContext,
        name: str,
        begun: TensorTracker,
        outputs: Sequence[TensorTracker],
        write: FunctionTracker,
    ) -> None:
        self.name = name
        self.begun = begun
        self.outputs = tuple(outputs)
        self.write = write
        self.step = tx.graph.step
        self.ended: int | None = None
        self.escapes = False
        self._graph = tx.graph.graph
        self._layouts = _layouts(self.outputs)

    @property
    def position(self) -> str | None:
        """Behind it, also when it has ended: the other processes take no part in a second run."""
        return "behind an asynchronous collective"

    @property
    def python_type(self) -> type:
        """Every backend of torch gives one class."""
        return dist.Work

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """`wait`; whatever else one may ask of a Work depends on how far the collective is."""
        return WaitMethod(self) if name == "wait" else self.unsupported(f"reading attribute {name!r}")

    def truth(self, tx: TraceContext) -> bool:
        """True: it has neither a truth nor a length."""
        return True

    def children(self) -> Iterator[Tracker]:
        """What it reads and writes."""
        yield from (self.begun, *self.outputs)

    def wait(self, tx: TraceContext) -> Tracker | PendingCall:
        """`work.wait()`: the outputs are written at the first one."""
        if self.ended is not None:
            return Constant(True)
        if tx.graph.graph is not self._graph:
            return self.unsupported("waiting in another function that the graph calls")
        if _layouts(self.outputs) != self._layouts or any(map(_is_followed, self.outputs)):
            return self.unsupported("waiting after a change of the memory or the gradients of a tensor")
        tx.changes.note(self)
        self.ended = tx.graph.step
        return self.write.bind(tx, [TupleTracker(self.outputs), self.begun], {})

    def explain(self) -> GraphBreak:
        """The break at which the collective begins natively."""
        why = "whose Work is needed behind the graph" if self.escapes else "for which the graph does not wait"
        return GraphBreak(NATIVE_CALL, f"torch.distributed.{self.name}(), asynchronous, {why}")

    def reconstruct(self, writer: Writer) -> str:
        """There is none: the trace is made again up to the collective."""
        self.escapes = True
        raise self.explain()


@final
class WaitMethod(Tracker):
    """`work.wait`, bound. It is only called."""

    source = None

    def __init__(self, work: WorkTracker) -> None:
        self.work = work

    @property
    def python_type(self) -> type:
        """That of a bound method of a class of pybind11."""
        return MethodType

    def children(self) -> Iterator[Tracker]:
        """The Work."""
        yield self.work

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """`work.wait()`. One with a time limit may raise."""
        if args or kwargs:
            return self.unsupported("a call with arguments")
        return self.work.wait(tx)

    def reconstruct(self, writer: Writer) -> str:
        """There is none, as there is no Work."""
        return self.work.reconstruct(writer)


def begin_work(
    tx: TraceContext,
    name: str,
    begun: TensorTracker,
    outputs: Sequence[TensorTracker],
    write: FunctionTracker,
) -> WorkTracker:
    """The Work of a collective that was just begun."""
    work = WorkTracker(tx, name, begun, outputs, write)
    tx.changes.launches.append(work)
    return work


def _layouts(tensors: Sequence[TensorTracker]) -> list[tuple[object, ...]]:
    """What tells where the elements of tensors are."""
    fakes = [one.fake for one in tensors]
    return [
        (one.untyped_storage()._cdata, one.storage_offset(), one.dtype, tuple(one.shape), one.stride())
        for one in fakes
    ]


def _is_followed(tensor: TensorTracker) -> bool:
    return tensor.fake.requires_grad and torch.is_grad_enabled()
