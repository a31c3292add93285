"""`copy.deepcopy` of a plain tensor: a clone of its data, which is a new leaf where the tensor requires a gradient.

In eager the whole memory of the tensor is copied, once for all tensors of one `deepcopy` that share it. So a graph copies only a tensor
that has a memory of its own, of its very size.
"""

from typing import Final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import TENSOR_INTERNALS
from framesmith.graph.options import is_fixed
from framesmith.guards.class_lookup import static_lookup
from framesmith.guards.kinds import LengthIs, TensorProperty
from framesmith.guards.sources import InstanceDict, Pinned
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.registry import Priority
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import call_node, wrap_result
from framesmith.variables.tensors.new_leaves import explain_no_leaf, make_leaf
from framesmith.variables.tensors.tensor_attributes import read_data, read_grad
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()


@ROWS.call(static_lookup(torch.Tensor, "__deepcopy__"), priority=Priority.LISTED)
def copy_tensor(tx: TraceContext, self: Tracker, memo: Tracker) -> Tracker:
    """`x.__deepcopy__(memo)`, as `copy.deepcopy(x)` calls it; breaks the graph for what a clone of the data would not be equal to."""
    if not isinstance(self, TensorTracker) or not _is_copied(tx, self):
        raise GraphBreak(TENSOR_INTERNALS, "Tensor.__deepcopy__()")
    known = _recall(tx, self, memo)
    return _keep(tx, self, memo, _clone(tx, self, torch.Tensor)) if known is None else known


@ROWS.call(static_lookup(torch.nn.Parameter, "__deepcopy__"))
def copy_parameter(tx: TraceContext, self: Tracker, memo: Tracker) -> Tracker:
    """The same of a parameter, whose attributes and gradient are not copied."""
    if not isinstance(self, TensorTracker) or self.cls is not torch.nn.Parameter:
        raise GraphBreak(TENSOR_INTERNALS, "Parameter.__deepcopy__()")
    known = _recall(tx, self, memo)
    return _keep(tx, self, memo, _clone(tx, self, torch.nn.Parameter)) if known is None else known


def _recall(tx: TraceContext, tensor: Tracker, memo: Tracker) -> Tracker | None:
    known = memo.attribute(tx, "get").call(tx, (_key(tx, tensor),), {}).realize()
    return None if isinstance(known, Constant) and known.value is None else known


def _keep(tx: TraceContext, tensor: Tracker, memo: Tracker, copied: Tracker) -> Tracker:
    memo.set_subscript(tx, _key(tx, tensor), copied)
    return copied


def _key(tx: TraceContext, tensor: Tracker) -> Tracker:
    return tx.wrap(id, Pinned(id, "id")).call(tx, (tensor,), {})


def _clone(tx: TraceContext, tensor: TensorTracker, cls: type[torch.Tensor]) -> Tracker:
    data = read_data(tx, tensor)
    assert isinstance(data, TensorTracker)
    copied = wrap_result(tx, call_node(tx, "clone", (data.graph_node(tx),)))
    assert isinstance(copied, TensorTracker)
    if copied.fake.stride() != tensor.fake.stride():
        raise GraphBreak(TENSOR_INTERNALS, "__deepcopy__() of a tensor with gaps")
    requires_grad = tensor.fake.requires_grad
    if cls is torch.Tensor and not requires_grad:
        return copied
    if (why := explain_no_leaf(tx, copied, requires_grad)) is not None:
        raise GraphBreak(TENSOR_INTERNALS, f"__deepcopy__() of a leaf{why}")
    return make_leaf(tx, copied, cls, requires_grad)


def _is_copied(tx: TraceContext, tensor: TensorTracker) -> bool:
    """Whether a clone of the data is all that eager makes, which is guarded for an existing tensor."""
    fake, real = tensor.fake, tensor.value
    size = fake.numel() * fake.itemsize
    if (
        tensor.cls is not torch.Tensor
        or tx.graph.length() is None
        or not fake.is_leaf
        or fake.layout is not torch.strided
        or fake.is_conj()
        or fake.is_neg()
        or fake.is_inference()
        or (fake if real is None else real)._is_view()
        or fake.is_quantized
        or tensor.own
        or tx.graph.writes.has_other_names(fake)
        or not (isinstance(found := read_grad(tx, tensor).realize(), Constant) and found.value is None)
    ):
        return False
    if real is None or tensor.source is None:
        return is_fixed(size) and fake.storage_offset() == 0 and fake.untyped_storage().nbytes() == size
    if real.storage_offset() or real.untyped_storage().nbytes() != real.numel() * real.itemsize or vars(real):
        return False
    tx.guard(tensor, TensorProperty.of(real, "_is_view", False))
    tx.guard(InstanceDict(tensor.source), LengthIs(0))
    return True
