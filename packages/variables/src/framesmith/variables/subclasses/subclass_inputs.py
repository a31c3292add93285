"""Existing tensors of subclasses as inputs of the graph, with the guards that they need, and results that wrap tensors.

The tracker is in `subclasses.subclass_tensors`.
"""

from collections.abc import Iterator
from types import MemberDescriptorType
from typing import Final

import torch
from torch.nested._internal.nested_tensor import NestedTensor
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNINITIALIZED, UNSUPPORTED_SUBCLASS
from framesmith.graph.inputs.inputs import is_wrapper, parts_of, place_of_part
from framesmith.graph.nodes.arguments import example
from framesmith.graph.shapes.dynamic_dims import DynamicDims
from framesmith.guards import Source
from framesmith.guards.class_lookup import is_heap_type, resolution_order, type_dict
from framesmith.guards.kinds import KeysAre, TensorIs, TypeIs
from framesmith.guards.sources.steps import InstanceDict
from framesmith.guards.words import a_type
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import check_modes
from framesmith.variables.subclasses.jagged_inputs import wrap_jagged
from framesmith.variables.subclasses.subclass_tensors import make_subclass_tensor, refuses
from framesmith.variables.tensors.tensor_inputs import wrap_with_sizes
from framesmith.variables.tensors.tensors import WRAPPER_RESULT, TensorTracker

ROWS: Final = Rows()


@ROWS.wrap_when(21, lambda _, value: issubclass(type(value), torch.Tensor))
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
    and reads all that it holds, so all of it is guarded. Its sizes are plain numbers."""
    cls = type(value)
    check_modes()
    tx.graph.has_wrappers = True
    if type(value) is NestedTensor:
        return wrap_jagged(tx, value, source)
    # From now on operations on fakes are made without asking: the trace has asked before.
    tx.graph.asks_no_subclass = True
    with torch._C.DisableTorchFunctionSubclass():
        guard_wrapper(tx, value, source)
        node = tx.graph.tensor_input(source, value, DynamicDims.none())
    fake = example(node)
    assert isinstance(fake, torch.Tensor)
    tracker = make_subclass_tensor(tx, cls, TensorTracker(node, fake, cls, source, value), value, source)
    tx.changes.results[id(fake)] = tracker
    return tracker


def guard_wrapper(tx: TraceContext, value: torch.Tensor, source: Source) -> None:
    """Guard the class and metadata of a wrapper and of the tensors in it, and all else that it holds."""
    tx.guard(source, TensorIs.capture(value))
    parts = parts_of(value)
    # First, since a dictionary of a subclass of dict would run its code in the guards that follow.
    tx.guard(InstanceDict(source), TypeIs(dict))
    # All names, also those of plain values: `__torch_dispatch__` may ask for any of them.
    tx.guard(InstanceDict(source), KeysAre(tuple(value.__dict__)))
    held = dict(_held(value))
    for name, found in held.items():
        place = place_of_part(type(value), source, name)
        if name not in parts and not tx.wrap(found, place).realize().is_python_constant():
            raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{source.text()} holds {name!r}, which is no constant")
    for name in parts:
        # A property would be read by code of the class in each call.
        if name not in held:
            raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{source.text()} holds {name!r} elsewhere")
        part, place = held[name], place_of_part(type(value), source, name)
        assert isinstance(part, torch.Tensor)
        if is_wrapper(part):
            guard_wrapper(tx, part, place)
        else:
            tx.guard(place, TensorIs.capture(part))


def _held(value: torch.Tensor) -> Iterator[tuple[str, object]]:
    """What an instance holds in its dictionary and in slots of its classes."""
    yield from value.__dict__.items()
    for cls in resolution_order(type(value)):
        for name, stored in type_dict(cls).items():
            if isinstance(stored, MemberDescriptorType) and is_heap_type(cls):
                yield name, stored.__get__(value)


@ROWS.entry(WRAPPER_RESULT, None)
def wrapper_result(tx: TraceContext, inner: Tracker) -> Tracker:
    """The tracker of a result that wraps other tensors."""
    assert isinstance(inner, TensorTracker)
    # A class with `__torch_dispatch__` alone says nothing about the tensors in it.
    if not is_wrapper(inner.fake):
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"an operation gives {a_type(type(inner.fake))}")
    return make_subclass_tensor(tx, type(inner.fake), inner)
