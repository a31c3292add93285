"""Wrapping real tensors and random generators met while tracing, with the guards they need.

The tracker is in `tensors.tensors`, the claim in `guards.kinds.tensor`.
"""

from collections.abc import Hashable, Iterable
from typing import Final, final

import torch
from torch import fx

from framesmith.graph import GraphBreak, Recorder
from framesmith.graph.breaks.break_kinds import FAKE_INPUT, RANDOM_STATE
from framesmith.graph.nodes.arguments import example
from framesmith.graph.options import is_fixed
from framesmith.graph.shapes.dynamic_dims import DynamicDims
from framesmith.guards import Source
from framesmith.guards.kinds import EqualTo, TensorIs, TypeIs, WeaklyIdentical
from framesmith.guards.sources import Attribute
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.graph_values import GraphValue
from framesmith.variables.graph_nodes.results import check_modes
from framesmith.variables.tensors.tensors import TensorTracker
from framesmith.variables.wrapping.wrap import Wrapper

ROWS: Final = Rows()


def _problem(value: torch.Tensor) -> str | None:
    """Why a plain tensor cannot be represented by a fake tensor, or None."""
    if value.layout is not torch.strided or value.is_nested or value.is_quantized or value.is_mkldnn:
        return f"a tensor of layout {value.layout}"
    if torch._C._functorch.is_functorch_wrapped_tensor(value):
        return "a tensor that a functorch transform has wrapped"
    return None


def symbolic_dims(numbers: Iterable[int]) -> list[int]:
    """The dimensions in which sizes or strides are symbolic; those are guarded by relations."""
    return [dim for dim, number in enumerate(numbers) if not is_fixed(number)]


@ROWS.wrap(torch.Tensor, torch.nn.Parameter)
def wrap_tensor(tx: TraceContext, value: object, source: Source) -> Tracker:
    """A tensor as an input of the graph. One claim guards everything that its fake tensor shows."""
    assert isinstance(value, torch.Tensor)
    check_modes()  # before the tensor is read, which a mode would see
    return wrap_with_sizes(tx, value, source, tx.wrap.policy.dynamic_dims(source, value))


def wrap_with_sizes(
    tx: TraceContext, value: torch.Tensor, source: Source, dims: DynamicDims
) -> TensorTracker:
    """A tensor as an input of the graph with such sizes."""
    problem = _problem(value)
    if problem is not None:
        raise GraphBreak(FAKE_INPUT, f"{source.text()} is {problem}")
    try:
        node = tx.graph.tensor_input(source, value, dims)
    except GraphBreak:
        # The trace goes on natively from here: what it decided about the tensor is guarded, its sizes are not.
        tx.guard(source, TensorIs.capture(value, range(value.dim())))
        raise
    fake = example(node)
    assert isinstance(fake, torch.Tensor)
    # the dimensions that are symbolic in the fake tensor: a size of 0 or 1 is a number in any case
    tx.guard(source, TensorIs.capture(value, symbolic_dims(fake.shape), symbolic_dims(fake.stride())))
    tracker = TensorTracker(node, fake, type(value), source, value, dims)
    # An operation may give an input back (`x.contiguous()`): then it is this tracker.
    tx.changes.results[id(fake)] = tracker
    return tracker


def repeat_tensor(tx: TraceContext, wrapper: Wrapper, value: object, source: Source) -> TensorTracker:
    """A tensor with static sizes as an input of the graph. The caller adds the guards."""
    assert isinstance(value, torch.Tensor)
    node = tx.graph.tensor_input(source, value)
    fake = example(node)
    assert isinstance(fake, torch.Tensor)
    tracker = TensorTracker(node, fake, type(value), source, value)
    tx.changes.results.keep(id(fake), tracker)
    # Other ways to the same tensor find it there.
    wrapper.adopt(value, source, tracker)
    return tracker


@final
class TorchGeneratorTracker(GraphValue):
    """A `torch.Generator`: passed to operations as an input of the graph, its state is not read."""

    def __init__(self, graph: Recorder, value: torch.Generator, source: Source) -> None:
        self._graph = graph
        self.value = value
        self.source = source

    @property
    def python_type(self) -> type:
        """`torch.Generator`."""
        return type(self.value)

    def graph_node(self, tx: TraceContext) -> fx.Node:
        """The input of the graph."""
        return self.output_node()

    def output_node(self) -> fx.Node:
        """The input of the graph."""
        assert self.source is not None
        # Asked for each time, since a roll-back may have dropped the input.
        return self._graph.object_input(self.source, self.value)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Break the graph: all attributes read or write the state."""
        raise GraphBreak(RANDOM_STATE, f"{self.describe()}.{name}")

    def hash_key(self, tx: TraceContext) -> Hashable:
        """It hashes by identity, to which the entry is bound then."""
        tx.guard(self, WeaklyIdentical.capture(self.value))
        return ("object", self.value)

    def truth(self, tx: TraceContext) -> bool:
        """True: a generator has no `__bool__`."""
        return True


@ROWS.wrap(torch.Generator)
def wrap_generator(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing generator: any other on the same device, which operations on fakes read, serves as well."""
    assert isinstance(value, torch.Generator)
    tx.guard(source, TypeIs(type(value)))
    tx.guard(Attribute(source, "device"), EqualTo(value.device))
    return TorchGeneratorTracker(tx.graph, value, source)
