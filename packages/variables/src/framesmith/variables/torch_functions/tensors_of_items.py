"""`torch.tensor([a, b, 2.0])` where `a` and `b` are 0-d tensors or numbers that vary.

torch reads each as a number; a graph converts and stacks them.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Final

import torch

from framesmith.graph.environment.default_devices import are_tensors_on_cpu
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.tensors.tensors import TensorTracker
from framesmith.variables.torch_functions.graph_calls import as_dtype, graph_call

_CPU: Final = torch.device("cpu")
_WHOLE: Final = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
"""The dtypes of whole numbers."""
_SEQUENCES: Final = (list, tuple, torch.Size)


def from_items(tx: TraceContext, args: Sequence[Tracker], kwargs: Mapping[str, Tracker]) -> Tracker | None:
    """The stacked items of a list, with lists at any depth, or one number that varies; None for what `torch.tensor` takes by itself.

    Items are 0-d tensors on the CPU and numbers, whose conversion to the result's dtype is the one that torch makes by way of a number.
    """
    named = {name: as_dtype(value).realize() for name, value in kwargs.items()}
    if len(args) != 1 or not all(isinstance(value, Constant) for value in named.values()):
        return None
    given = {name: value.as_python_constant() for name, value in named.items()}
    if given.keys() - {"dtype", "device", "requires_grad"} or not are_tensors_on_cpu():
        return None
    if given.get("requires_grad", False) is not False:
        return None
    data = args[0].realize()
    dtypes = _dtypes(data)
    if not dtypes or isinstance(data, TensorTracker) or not _varies(data):
        return None
    wanted = given.get("dtype")
    # torch infers the dtype of nested numbers by promotion of all of them.
    dtype = wanted if isinstance(wanted, torch.dtype) else functools.reduce(torch.promote_types, dtypes)
    if not all(_converts(one, dtype) for one in dtypes):
        return None
    made = _stack(tx, data, dtype)
    # As torch does: what it has read is on the CPU first.
    on_cpu = given.get("device") in (None, "cpu", _CPU)
    return made if on_cpu else graph_call(tx, "to", (made, Constant(given["device"])), {})


def _items(tracker: Tracker) -> list[Tracker] | None:
    if isinstance(tracker, ListTracker | TupleTracker) and tracker.python_type in _SEQUENCES:
        return [item.realize() for item in tracker.items]
    return None


def _dtypes(tracker: Tracker) -> list[torch.dtype] | None:
    """The dtypes of all items, a number's as torch infers it; None where lists of different lengths, or something else
    than 0-d tensors and numbers, are among them."""
    items = _items(tracker)
    if items is not None:
        lengths = {len(inner) if (inner := _items(item)) is not None else None for item in items}
        parts = [_dtypes(item) for item in items]
        return None if len(lengths) > 1 or None in parts else [one for part in parts for one in part or ()]
    if isinstance(tracker, TensorTracker):
        fake = tracker.fake
        plain = tracker.cls in (torch.Tensor, torch.nn.Parameter) and fake.device == _CPU
        return [fake.dtype] if plain and fake.dim() == 0 and fake.layout is torch.strided else None
    cls = tracker.python_type if isinstance(tracker, Constant) or tracker.is_run_time_number else None
    # As `infer_scalar_type` of torch's C++ does.
    inferred = {bool: torch.bool, int: torch.int64, float: torch.get_default_dtype()}
    return [inferred[cls]] if cls in inferred else None


def _varies(tracker: Tracker) -> bool:
    """Whether it is, or holds, a tensor or a number of which each value would need an entry of its own."""
    return (
        isinstance(tracker, TensorTracker) or _is_number(tracker) or any(map(_varies, _items(tracker) or ()))
    )


def _is_number(tracker: Tracker) -> bool:
    return tracker.is_run_time_number and tracker.python_type in (int, float)


def _converts(own: torch.dtype, dtype: torch.dtype) -> bool:
    """Whether a tensor's conversion keeps what the number of an item becomes in a tensor of the dtype."""
    if own in _WHOLE and dtype in _WHOLE:
        # A narrowing conversion raises for a number out of range, where `to` wraps it.
        return own in (dtype, torch.bool) or (dtype is torch.int64)
    return own == dtype or (dtype.is_floating_point and not own.is_complex)


def _stack(tx: TraceContext, tracker: Tracker, dtype: torch.dtype) -> Tracker:
    items = _items(tracker)
    if items is not None:
        return graph_call(tx, torch.stack, (ListTracker([_stack(tx, item, dtype) for item in items]),), {})
    if _is_number(tracker):
        return _from_number(tx, tracker, dtype)
    if not isinstance(tracker, TensorTracker):
        return graph_call(tx, torch.tensor, (tracker,), {"dtype": Constant(dtype), "device": Constant(_CPU)})
    own = tracker.fake.dtype
    # The new tensor has no history: in eager a number is between the two.
    found = graph_call(tx, "detach", (tracker,), {})
    if own != dtype and dtype.is_floating_point:  # a Python number is a double
        found = graph_call(tx, "to", (found, Constant(torch.float64)), {})
    return found if own == dtype else graph_call(tx, "to", (found, Constant(dtype)), {})


def _from_number(tx: TraceContext, number: Tracker, dtype: torch.dtype) -> Tracker:
    """A number that varies; `torch.tensor` would read it, where `scalar_tensor` takes it from the graph."""
    # A Python number becomes a double on the way to a floating one; `scalar_tensor` itself refuses what overflows.
    first = torch.float64 if dtype.is_floating_point else torch.int64
    given = {"dtype": Constant(first), "device": Constant(_CPU)}
    made = graph_call(tx, torch.scalar_tensor, (number,), given)
    return made if first == dtype else graph_call(tx, "to", (made, Constant(dtype)), {})
