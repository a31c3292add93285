"""`DTensor`: tensors that are spread over the processes of a mesh.

One is a wrapper of torch, whose C code distributes an operation on it: that is one node, which torch distributes whenever it
runs. Here: its methods in Python, each one node as well, since they compute with what the wrapper holds.

    y = x.redistribute(mesh, [Replicate()])      y = redistribute(x)      # with the mesh and the placements inside
"""

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Final

import torch
import torch.distributed.tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.graph.operations.data_errors import never_fails, only_computes
from framesmith.guards.kinds import WeaklyIdentical
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import call_node, wrap_result
from framesmith.variables.objects.instances import InstanceTracker
from framesmith.variables.subclasses.subclass_tensors import SubclassTensor
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()

_MARK: Final = "_is_param"
"""By this attribute a tensor that is no `Parameter` by its class is one."""


@ROWS.call(DTensor.from_local)
def from_local(tx: TraceContext, local_tensor: Tracker, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`DTensor.from_local(x, mesh, placements)`. Checks over all processes run natively."""
    one = local_tensor.realize()
    names = ("device_mesh", "placements")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    mesh = given.get("device_mesh", Constant(None)).realize()
    if not isinstance(one, TensorTracker) or len(args) > len(names) or _mesh_of(tx, mesh) is None:
        raise _refuse("from_local", "of other arguments than a plain tensor and a mesh")
    if given.get("run_check", Constant(False)).realize().as_python_constant() is not False:
        raise _refuse("from_local", "with a check over all processes")
    found = _mesh_of(tx, mesh)
    assert found is not None
    if found.device_type != one.fake.device.type:
        raise _refuse("from_local", "of a tensor on another device")
    return _call(tx, DTensor.from_local, one, args, kwargs)


@ROWS.call(DTensor.redistribute)
def redistribute(tx: TraceContext, self: Tracker, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`x.redistribute(mesh, placements)`. What it begins with `async_op=True` ends where it begins."""
    kept = {name: value for name, value in kwargs.items() if name != "async_op"}
    return _call(tx, DTensor.redistribute, _require(self, "redistribute").inner, args, kept)


@ROWS.call(DTensor.full_tensor)
def full_tensor(tx: TraceContext, self: Tracker, **kwargs: Tracker) -> Tracker:
    """`x.full_tensor()`."""
    return _call(tx, DTensor.full_tensor, _require(self, "full_tensor").inner, (), kwargs)


@ROWS.call(DTensor.to_local)
def to_local(tx: TraceContext, self: Tracker, **kwargs: Tracker) -> Tracker:
    """`x.to_local()`. That of a parameter is a parameter too."""
    whole = _require(self, "to_local")
    is_parameter = whole.own.load(tx, whole, _MARK) is not None
    if whole.source is not None and not torch.is_grad_enabled() and not is_parameter:
        raise _refuse("to_local", "which gives the tensor that an argument holds")
    local = _call(tx, DTensor.to_local, whole.inner, (), kwargs)
    if is_parameter:
        local.set_attribute(tx, _MARK, Constant(True))
    return local


def _refuse(name: str, why: str) -> GraphBreak:
    return GraphBreak(NATIVE_CALL, f"DTensor.{name}(), {why}")


def _require(self: Tracker, name: str) -> SubclassTensor:
    if not isinstance(self, SubclassTensor) or self.cls is not DTensor:
        raise _refuse(name, "of another class")
    return self


def _mesh_of(tx: TraceContext, mesh: Tracker) -> DeviceMesh | None:
    """An existing mesh, guarded to be this one; None for anything else."""
    if not isinstance(mesh, InstanceTracker) or not isinstance(mesh.value, DeviceMesh):
        return None
    tx.guard(mesh, WeaklyIdentical.capture(mesh.value))
    return mesh.value


def _call(
    tx: TraceContext,
    method: Callable[..., object],
    tensor: TensorTracker,
    args: Sequence[Tracker],
    kwargs: Mapping[str, Tracker],
) -> Tracker:
    """The method as one node; its arguments are constants and meshes."""
    given = [_known(tx, operand) for operand in args]
    named = {name: _known(tx, operand) for name, operand in kwargs.items()}

    def distributed(one: torch.Tensor) -> object:
        return method(one, *given, **named)

    distributed.__name__ = distributed.__qualname__ = f"distributed_{method.__name__}"
    return wrap_result(tx, call_node(tx, only_computes(never_fails(distributed)), (tensor.graph_node(tx),)))


def _known(tx: TraceContext, operand: Tracker) -> object:
    found = operand.realize()
    mesh = _mesh_of(tx, found)
    return found.as_python_constant() if mesh is None else mesh


def _run_natively(function: Callable[..., object]) -> None:
    """A call of the function is one graph break, whatever it does inside."""

    @ROWS.call(function)
    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        raise GraphBreak(NATIVE_CALL, f"torch.distributed.tensor.{function.__name__}()")


# Those that make tensors by C code or random numbers, or send data of the first process to the others.
for _name in torch.distributed.tensor.__all__:
    _exported = getattr(torch.distributed.tensor, _name)
    if type(_exported) is FunctionType:
        _run_natively(_exported)
