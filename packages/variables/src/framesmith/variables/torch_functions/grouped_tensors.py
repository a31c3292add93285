"""`torch._C._group_tensors_by_device_and_dtype`: with which `clip_grad_norm_` and optimizers group tensors."""

from typing import Final

import torch

from framesmith.variables.builtin_types.dicts import make_dict_tracker
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()


@ROWS.call(torch._C._group_tensors_by_device_and_dtype)
def group_tensors(tx: TraceContext, tensorlistlist: Tracker, with_indices: Tracker | None = None) -> Tracker:
    """`{(device, dtype): (lists, indices)}`, if all tensors of the first list have one device and dtype.

    The order of several groups is that of a C++ hash table, so they are grouped natively.
    """
    lists = [[item.realize() for item in unpack(tx, one.realize())] for one in unpack(tx, tensorlistlist)]
    # torch groups by the tensors of the first list; the others follow it, and may hold None.
    deciding = lists[0] if lists else []
    kinds = {
        (tensor.fake.device, tensor.fake.dtype) for tensor in deciding if isinstance(tensor, TensorTracker)
    }
    if len(kinds) != 1 or not all(isinstance(tensor, TensorTracker) for tensor in deciding):
        return tensorlistlist.unsupported("sorting what is not tensors of one kind")
    if any(len(one) != len(deciding) for one in lists):
        return tensorlistlist.unsupported("sorting lists of different lengths")
    wanted = with_indices is not None and bool(with_indices.as_python_constant())
    indices = [Constant(index) for index in range(len(deciding))] if wanted else []
    groups = [
        (
            TupleTracker((Constant(device), Constant(dtype))),
            TupleTracker((ListTracker([ListTracker(one) for one in lists]), ListTracker(list(indices)))),
        )
        for device, dtype in kinds
    ]
    return make_dict_tracker(groups)
