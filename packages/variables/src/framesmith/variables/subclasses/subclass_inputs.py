"""Existing tensors of subclasses as inputs of the graph, with the guards that they need, and results that wrap tensors.

The tracker is in `subclasses.subclass_tensors`.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType, MemberDescriptorType
from typing import Final

import torch
from torch import fx
from torch.nested._internal.nested_tensor import NestedTensor
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNINITIALIZED, UNSUPPORTED_SUBCLASS
from framesmith.graph.fakes.fake_wrappers import adds_attributes
from framesmith.graph.inputs.inputs import is_wrapper, memories_of, parts_of, place_of_part
from framesmith.graph.nodes.arguments import example
from framesmith.graph.shapes.dynamic_dims import Dim, DynamicDims
from framesmith.guards import Guard, Reason, Source
from framesmith.guards.class_lookup import is_heap_type, resolution_order, static_lookup, type_dict
from framesmith.guards.kinds import DistinctStorages, EqualTo, KeysAre, TensorIs, TypeIs
from framesmith.guards.kinds.aliasing import storage_of
from framesmith.guards.sources import CallResult
from framesmith.guards.sources.steps import InstanceDict
from framesmith.guards.words import a_type
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import check_modes
from framesmith.variables.subclasses.jagged_inputs import wrap_jagged
from framesmith.variables.subclasses.subclass_tensors import make_subclass_tensor, refuses
from framesmith.variables.tensors.tensor_inputs import symbolic_dims, wrap_with_sizes
from framesmith.variables.tensors.tensors import WRAPPER_RESULT, TensorTracker

ROWS: Final = Rows()

_NOTHING: Final[Mapping[int, Dim]] = MappingProxyType({})
_MARKS: Final = ("_dynamo_", "_specialize_on")
"""What is in the names under which torch, and we, mark tensors."""


@ROWS.wrap_when(21, lambda _, cls: issubclass(cls, torch.Tensor))
def wrap_tensor_subclass(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing tensor of a subclass: an input of the graph, and an instance of its class. Its sizes are plain numbers: guards
    on symbolic ones would ask it for them, which its class sees."""
    cls = type(value)
    # A fake needs a shape.
    if issubclass(cls, UninitializedParameter | UninitializedBuffer):
        raise GraphBreak(UNINITIALIZED, source.text())
    reason = refuses(cls)
    if reason is not None:
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{source.text()} is {reason}")
    assert isinstance(value, torch.Tensor)
    if is_wrapper(value):
        return wrap_wrapper(tx, value, source)
    check_modes()
    # Fields of the tensor are read for its fake and its guards: the class must not see that.
    with torch._C.DisableTorchFunctionSubclass():
        inner = wrap_with_sizes(tx, value, source, DynamicDims.none())
    return make_subclass_tensor(tx, cls, inner, value, source)


def wrap_wrapper(tx: TraceContext, value: torch.Tensor, source: Source) -> Tracker:
    """An existing tensor that wraps others (it has `__tensor_flatten__`): its `__torch_dispatch__` runs on fakes while tracing,
    and reads all that it holds, so all of it is guarded."""
    cls = type(value)
    check_modes()
    tx.graph.has_wrappers = True
    if type(value) is NestedTensor:
        return wrap_jagged(tx, value, source)
    # From now on operations on fakes are made without asking: the trace has asked before.
    tx.graph.asks_no_subclass = True
    with torch._C.DisableTorchFunctionSubclass():
        try:
            parts_of(value)
        except Exception as error:  # code of the class, on an instance that is not complete
            text = f"__tensor_flatten__ of {source.text()} raises {a_type(type(error))}"
            raise GraphBreak(UNSUPPORTED_SUBCLASS, text) from error
        guard_attributes(tx, value, source)
        node = _make_input(tx, value, source)
        fake = example(node)
        assert isinstance(fake, torch.Tensor)
        guard_sizes(tx, value, source, fake)
        guard_memories(tx, value, source)
    tracker = make_subclass_tensor(tx, cls, TensorTracker(node, fake, cls, source, value), value, source)
    tx.changes.results[id(fake)] = tracker
    return tracker


def _make_input(tx: TraceContext, value: torch.Tensor, source: Source) -> fx.Node:
    """The input of the graph, with sizes that may differ where the class makes a wrapper that follows them."""
    # What a class keeps in slots it compares by itself, as the layout over processes.
    dims = DynamicDims.none() if any(_in_slots(value)) else _dims(tx, value, source)
    if not _is_static(dims, value) and not _adds_attributes(tx, value):
        with suppress(GraphBreak):  # of a class that makes its tensors of plain numbers alone
            return tx.graph.tensor_input(source, value, dims)
    return tx.graph.tensor_input(source, value, DynamicDims.none())


def _adds_attributes(tx: TraceContext, value: torch.Tensor) -> bool:
    with tx.graph.pause_recording():
        return adds_attributes(value)


def _dims(
    tx: TraceContext, value: torch.Tensor, source: Source, inherited: Mapping[int, Dim] = _NOTHING
) -> DynamicDims:
    """Which sizes are symbolic: those of the policy, and in a tensor of as many dimensions what is so in the wrapper."""
    own = tx.wrap.policy.dynamic_dims(source, value)
    dims = {**own.dims, **inherited}
    parts = {
        name: _dims(
            tx,
            part,
            place_of_part(type(value), source, name),
            dims if part.dim() == value.dim() else _NOTHING,
        )
        for name in parts_of(value)
        if isinstance(part := getattr(value, name), torch.Tensor)
    }
    return replace(own, dims=dims, parts=parts)


def _is_static(dims: DynamicDims, value: torch.Tensor) -> bool:
    """Whether no size is symbolic, in the tensor itself and in those that it holds."""
    parts = (_is_static(part, getattr(value, name)) for name, part in dims.parts.items())
    return dims.is_static(value.dim()) and all(parts)


def guard_attributes(tx: TraceContext, value: torch.Tensor, source: Source) -> None:
    """Guard the class of a wrapper, of the tensors in it, and all else that it holds."""
    cls = type(value)
    tx.guard(source, TypeIs(cls))
    parts, names = parts_of(value), names_held(value.__dict__)
    # First, since a dictionary of a subclass of dict would run its code in the guards that follow.
    tx.guard(InstanceDict(source), TypeIs(dict))
    # All names, also those of plain values: `__torch_dispatch__` may ask for any of them.
    if len(names) == len(value.__dict__):
        tx.guard(InstanceDict(source), KeysAre(names))
    else:
        tx.guard(CallResult(InstanceDict(source), names_held), EqualTo(names))
    held = {name: value.__dict__[name] for name in names} | dict(_in_slots(value))
    for name, found in held.items():
        if name not in parts:
            _guard_constant(tx, found, place_of_part(cls, source, name))
    for name in parts:
        # A property would be read by code of the class in each call.
        is_property = name in names and hasattr(static_lookup(cls, name), "__set__")
        part = held.get(name)
        if is_property or not isinstance(part, torch.Tensor):
            raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{source.text()} holds {name!r} elsewhere")
        if is_wrapper(part):
            guard_attributes(tx, part, place_of_part(cls, source, name))


def _in_slots(value: torch.Tensor) -> Iterator[tuple[str, object]]:
    """What an instance holds in slots of its classes."""
    for cls in resolution_order(type(value)):
        for name, stored in type_dict(cls).items():
            if isinstance(stored, MemberDescriptorType) and is_heap_type(cls):
                yield name, stored.__get__(value)


def names_held(attributes: Mapping[str, object]) -> tuple[str, ...]:
    """The names of what a wrapper holds, without torch's marks on tensors (`mark_dynamic`), which the policy looks at."""
    return tuple([name for name in attributes if not any(mark in name for mark in _MARKS)])


def _guard_constant(tx: TraceContext, value: object, place: Source) -> None:
    """Guard that a wrapper holds this constant, also where it is a number that was seen to change."""
    if type(value) in (int, float):
        assert isinstance(value, int | float)
        tx.guard(place, EqualTo(value))
    elif not tx.wrap(value, place).realize().is_python_constant():
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{place.text()} in a tensor that wraps others is no constant")


def guard_sizes(tx: TraceContext, value: torch.Tensor, source: Source, fake: torch.Tensor) -> None:
    """Guard the metadata of a wrapper and of the tensors in it: what is a number in the fake, symbolic sizes by relations."""
    tx.guard(source, TensorIs.capture(value, symbolic_dims(fake.shape), symbolic_dims(fake.stride())))
    for name in parts_of(value):
        place = place_of_part(type(value), source, name)
        guard_sizes(tx, getattr(value, name), place, getattr(fake, name))


def guard_memories(tx: TraceContext, value: torch.Tensor, source: Source) -> None:
    """Guard that the tensors in a wrapper share no memory, as those in its fake do not; they, and gradients of their own, break the graph."""
    held = dict(memories_of(source, value))
    if len({storage_of(part) for part in held.values()}) < len(held):
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{source.text()} holds memory more than once")
    # A backend takes the wrapper apart, and differentiates it as a whole. It is not asked for without need.
    if not value.requires_grad:
        own = [place.text() for place, part in held.items() if part.requires_grad]
        if own and not tx.graph.runs_as_captured:
            raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{own[0]} requires gradients, which its wrapper does not")
    if len(held) > 1:
        reason = Reason("a tensor wraps them, each by itself", None)
        tx.guards.add(Guard.relation(DistinctStorages(tuple(held)), reason))


@ROWS.entry(WRAPPER_RESULT, None)
def wrapper_result(tx: TraceContext, inner: Tracker) -> Tracker:
    """The tracker of a result that wraps other tensors."""
    assert isinstance(inner, TensorTracker)
    # A class with `__torch_dispatch__` alone says nothing about the tensors in it.
    if not is_wrapper(inner.fake):
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"an operation gives {a_type(type(inner.fake))}")
    return make_subclass_tensor(tx, type(inner.fake), inner)
