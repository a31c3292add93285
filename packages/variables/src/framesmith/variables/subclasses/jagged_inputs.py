"""Existing nested tensors with the layout `torch.jagged` as inputs of the graph.

Such a tensor holds the values of all its components in one tensor, and where each of them begins in another. Its
`__torch_function__` is torch's own and computes with these alone, so it is no part of the trace: an operation on it is one node,
which asks it whenever it runs, as eager does. The length of the ragged dimension is a symbol that stands for the tensor of
offsets (torch's "nested int"); it and the number of values are symbolic from the first trace on, since they differ from batch
to batch.
"""

from collections.abc import Iterator, Mapping

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_SUBCLASS
from framesmith.graph.inputs.inputs import parts_of
from framesmith.graph.nodes.arguments import example
from framesmith.graph.shapes.dynamic_dims import Dim, DynamicDims
from framesmith.guards import Source
from framesmith.guards.kinds import EqualTo, KeysAre, TensorIs, TypeIs
from framesmith.guards.sources import InstanceItem, Item
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.subclasses.subclass_tensors import SubclassTensor, make_subclass_tensor
from framesmith.variables.tensors.tensor_inputs import symbolic_dims, wrap_with_sizes
from framesmith.variables.tensors.tensors import TensorTracker
from framesmith.variables.wrapping.wrap import Wrapper

_VALUES = "_values"
_LENGTHS = {"_min_seqlen_tensor": "min_seqlen", "_max_seqlen_tensor": "max_seqlen"}
"""Properties that give the length of the shortest and longest component, as the size of an empty tensor, and their keys in
`_metadata_cache`."""


def wrap_jagged(tx: TraceContext, value: torch.Tensor, source: Source) -> SubclassTensor:
    """A jagged tensor as an input of the graph, with the guards that it needs."""
    with torch._C.DisableTorchFunctionSubclass():
        # First, since what is read from it in the guards that follow is there for this class only.
        tx.guard(source, TypeIs(type(value)))
        for name in ("_ragged_idx", "_lengths"):
            found = vars(value).get(name)
            if found is None or type(found) is int:
                tx.guard(InstanceItem(source, name), EqualTo(found))
        cache = InstanceItem(source, "_metadata_cache")
        tx.guard(cache, TypeIs(dict))
        tx.guard(cache, KeysAre(tuple(vars(value)["_metadata_cache"])))
        held = dict(_parts(value, source))
        dims = _dims(tx, value, source, held)
        shared = {
            name: _wrap_part(tx, part, place, dims.parts[name])
            for name, (place, part) in held.items()
            if name != _VALUES
        }
        node = tx.graph.tensor_input(source, value, dims)
        fake = example(node)
        assert isinstance(fake, torch.Tensor)
        tx.guard(source, TensorIs.capture(value, symbolic_dims(fake.shape), range(value.dim())))
        place, part = held[_VALUES]
        inner = getattr(fake, _VALUES)
        tx.guard(place, TensorIs.capture(part, symbolic_dims(inner.shape), symbolic_dims(inner.stride())))
    tracker = make_subclass_tensor(
        tx, type(value), TensorTracker(node, fake, type(value), source, value), value, source
    )
    tracker.shared.update(shared)
    tx.changes.results[id(fake)] = tracker
    return tracker


def _wrap_part(tx: TraceContext, part: torch.Tensor, place: Source, dims: DynamicDims) -> Tracker:
    """Make a tensor that several jagged tensors may share an input by itself: which of them do is guarded, since their lengths are
    the same symbol then."""
    assert isinstance(tx.wrap, Wrapper)
    if tx.wrap.first_source(part) is None:
        tx.wrap.adopt(part, place, wrap_with_sizes(tx, part, place, dims))
    return tx.wrap(part, place).realize()


def _parts(value: torch.Tensor, source: Source) -> Iterator[tuple[str, tuple[Source, torch.Tensor]]]:
    """The tensors that it holds, and where."""
    for name in parts_of(value):
        part = getattr(value, name)
        if name in _LENGTHS:
            place: Source = Item(InstanceItem(source, "_metadata_cache"), _LENGTHS[name])
        else:
            place = InstanceItem(source, name)
        if type(part) is not torch.Tensor:
            raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{source.text()} holds {name!r} of another class")
        yield name, (place, part)


def _dims(
    tx: TraceContext, value: torch.Tensor, source: Source, held: Mapping[str, tuple[Source, torch.Tensor]]
) -> DynamicDims:
    """Which sizes are symbolic: the number of values, the lengths, and what was seen to change."""
    policy = tx.wrap.policy
    ragged = vars(value)["_ragged_idx"]
    outer = policy.dynamic_dims(source, value)
    # A number in one of the two is a number in the other.
    batch = {} if value.size(0) < 2 or outer.treatment(0) is Dim.STATIC else {0: Dim.DYNAMIC}
    inner = policy.dynamic_dims(*held[_VALUES])
    parts = {name: DynamicDims.of(0) if name in _LENGTHS else DynamicDims(dims=batch) for name in held}
    parts[_VALUES] = DynamicDims(inner.default, {**inner.dims, ragged - 1: Dim.DYNAMIC}, inner.bounds)
    sizes = {dim: outer.treatment(dim) for dim in range(1, value.dim())}
    return DynamicDims(dims={**sizes, ragged: Dim.DYNAMIC, **batch}, bounds=outer.bounds, parts=parts)
